"""The stand-alone verifier of a journal: checks an export against signed checkpoints.

A stranger copies this file and `ed25519.py`, needs only Python, and trusts neither the server nor
its database. It shares with the writer nothing but SHA-256: chain, tree and notes are computed here
once more, in another way. What it reports as good was neither edited, inserted, removed nor
reordered up to the last checkpoint it was given; what lies behind that checkpoint is reported as
unanchored and never as good.

The export is a text: a first line `avow-journal-export-1 ORIGIN`, then for each entry its position,
its hash and its body, separated by single spaces. Anchors are checkpoint notes kept elsewhere.

Clauses: IRL-6.03, ICNLI-12.5.02.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from avow.clients import ed25519

EXPORT = b"avow-journal-export-1"
_GENESIS = b"0" * 64
_PROBLEMS_MAX = 50
_NOTE = re.compile(
    r"(?P<text>(?P<origin>[^\n]+)\n(?P<size>\d{1,16})\n(?P<root>[A-Za-z0-9+/=]{44})\n"
    r"chain (?P<head>[0-9a-f]{64})\ntime (?P<time>\d{1,16})\n)\n(?P<signed>(?:— \S+ \S+\n)+)"
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One checkpoint that was kept elsewhere, as read from its note."""

    origin: str
    size: int
    root: bytes
    head: str
    text: str
    signatures: tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class Report:
    """What was found. `is_good` is the answer; `problems` say what and where."""

    origin: str = ""
    entries: int = 0
    head: str = _GENESIS.decode()
    anchors_good: int = 0
    anchored: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def unanchored(self) -> int:
        """Return how many entries lie behind the last good checkpoint."""
        return self.entries - self.anchored

    @property
    def is_good(self) -> bool:
        """Return whether nothing is wrong; entries may still be unanchored."""
        return not self.problems

    def problem(self, text: str) -> None:
        """Note something wrong; the list is bounded, the verdict is not changed by that."""
        if len(self.problems) < _PROBLEMS_MAX:
            self.problems.append(text)


class _Tree:
    """The roots of complete subtrees, smallest last, as a stack with their sizes."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, bytes]] = []

    def add(self, data: bytes) -> None:
        width, value = 1, hashlib.sha256(b"\x00" + data).digest()
        while self._stack and self._stack[-1][0] == width:
            value = hashlib.sha256(b"\x01" + self._stack.pop()[1] + value).digest()
            width *= 2
        self._stack.append((width, value))

    def root(self) -> bytes:
        value = b""
        for _, left in reversed(self._stack):
            value = hashlib.sha256(b"\x01" + left + value).digest() if value else left
        return value or hashlib.sha256(b"").digest()


def verify(
    lines: Iterable[bytes], *, anchors: str = "", keys: Mapping[str, bytes] | None = None
) -> Report:
    """Verify an export against anchors, with the public keys that are trusted, by name.

    1. The export names its format and origin.
    2. Positions count from 1 without gaps, and each body names its own.
    3. Each hash is the one that its predecessor and its body give.
    4. Each anchor is signed by a trusted key, is for this origin, and at its size the chain's
       head and the tree's root are the ones it names.
    5. The journal is not shorter than any good anchor: it was not cut off or wound back.
    """
    report, source = Report(), iter(lines)
    # 1
    first = next(source, b"").rstrip(b"\n")
    if not first.startswith(EXPORT + b" "):
        report.problem("the first line does not name the format of an export")
        return report
    report.origin = first[len(EXPORT) + 1 :].decode("utf-8", "replace")
    # 4, as far as it does not need the entries
    trusted = _trusted(list(read_anchors(anchors, report)), keys or {}, report)
    _walk(source, trusted, report)
    # 5
    for anchor in trusted:
        if anchor.size > report.entries:
            report.problem(f"cut off: an anchor names {anchor.size} entries, {report.entries} left")
    return report


def read_anchors(text: str, report: Report) -> Iterator[Anchor]:
    """Yield the checkpoints of an anchor file; what is no note is a problem."""
    at = 0
    for match in _NOTE.finditer(text):
        if text[at : match.start()].strip():
            report.problem("the anchor file holds something that is not a checkpoint")
        at = match.end()
        try:
            root = base64.b64decode(match["root"], validate=True)
            lines = match["signed"].splitlines()
            named = [line.split(" ")[1:] for line in lines]
            signatures = tuple(
                (name, base64.b64decode(data, validate=True)) for name, data in named
            )
        except (binascii.Error, ValueError):
            report.problem("a checkpoint holds base64 that cannot be decoded")
            continue
        yield Anchor(
            match["origin"], int(match["size"]), root, match["head"], match["text"], signatures
        )
    if text[at:].strip():
        report.problem("the anchor file holds something that is not a checkpoint")


def _trusted(anchors: list[Anchor], keys: Mapping[str, bytes], report: Report) -> list[Anchor]:
    """Return the anchors that a trusted key signed for this journal, in ascending size."""
    good = []
    for anchor in anchors:
        if anchor.origin != report.origin:
            report.problem(f"an anchor is for `{anchor.origin}`")
        elif not any(_is_signed(anchor, name, keys) for name in keys):
            report.problem(f"the anchor at {anchor.size} is not signed by a trusted key")
        else:
            good.append(anchor)
    return sorted(good, key=lambda anchor: anchor.size)


def _is_signed(anchor: Anchor, name: str, keys: Mapping[str, bytes]) -> bool:
    key = keys[name]
    hashed = hashlib.sha256(name.encode("utf-8") + b"\n\x01" + key).digest()
    return any(
        named == name
        and data[:4] == hashed[:4]
        and ed25519.is_valid(key, anchor.text.encode("utf-8"), data[4:])
        for named, data in anchor.signatures
    )


def _walk(lines: Iterator[bytes], anchors: list[Anchor], report: Report) -> None:
    """Check every entry and, at their sizes, the anchors."""
    tree, previous = _Tree(), _GENESIS
    pending = list(reversed(anchors))
    sha256 = hashlib.sha256
    while pending and pending[-1].size == 0:
        _compare(pending.pop(), previous.decode(), tree.root(), report)
    for position, line in enumerate(lines, start=1):
        parts = line.rstrip(b"\n").split(b" ", 2)
        # 2
        if len(parts) != 3 or parts[0] != b"%d" % position:  # noqa: PLR2004 - the three columns
            report.problem(f"entry {position} is missing or out of order")
            break
        _, claimed, body = parts
        if b'"n":%d,' % position not in body and b'"n":%d}' % position not in body:
            report.problem(f"entry {position} does not name its own position")
        # 3
        if sha256(b"avow-journal-1\n" + previous + b"\n" + body).hexdigest().encode() != claimed:
            report.problem(f"entry {position} is not what was written: its hash does not fit")
            break
        previous = claimed
        tree.add(bytes.fromhex(claimed.decode()))
        report.entries = position
        while pending and pending[-1].size == position:
            _compare(pending.pop(), previous.decode(), tree.root(), report)
    report.head = previous.decode()


def _compare(anchor: Anchor, head: str, root: bytes, report: Report) -> None:
    if anchor.head != head or anchor.root != root:
        report.problem(f"rewritten: the anchor at {anchor.size} names another history")
        return
    report.anchors_good += 1
    report.anchored = anchor.size
