"""The stand-alone verifier of a journal: checks an export against signed checkpoints.

A stranger copies this file and `ed25519.py`, needs only Python, and trusts neither the server nor
its database. It shares with the writer nothing but SHA-256: chain, tree and notes are computed here
once more, in another way. What it reports as good was neither edited, inserted, removed nor
reordered up to the last checkpoint it was given; what lies behind that checkpoint is reported as
unanchored and never as good.

The export is a text: a first line `avow-journal-export-1 ORIGIN`, then for each entry its position,
its hash and its body, separated by single spaces. Anchors are checkpoint notes kept elsewhere. Keys
are the text of a key ring, kept elsewhere too: it alone says whose signature counts.

Clauses: IRL-6.03, ICNLI-12.4.02, ICNLI-12.5.02, ICNLI-12.5.04.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from avow.clients import ed25519

EXPORT = b"avow-journal-export-1"
GENESIS = "0" * 64
_PROBLEMS_MAX = 50
_STEP = 10_000
_NUMBER = r"0|[1-9][0-9]{0,15}"
_NOTE = re.compile(
    rf"^(?P<text>(?P<origin>[^\n\ud800-\udfff]+)\n(?P<size>{_NUMBER})\n"
    rf"(?P<root>[A-Za-z0-9+/=]{{44}})\nchain (?P<head>[0-9a-f]{{64}})\ntime (?P<time>{_NUMBER})\n)"
    r"\n(?P<signed>(?:— \S+ \S+\n)+)",
    re.MULTILINE,
)
_KEY = re.compile(
    r"(?P<name>[^\s+\ud800-\udfff]+)\+(?P<id>[0-9a-f]{8})\+(?P<key>[A-Za-z0-9+/]{44})"
    rf"(?:| (?P<retired>retired)| (?P<compromised>compromised) (?P<size>{_NUMBER}))"
)
# How the journal's own record of its keys says what the key ring says.
_STATES = {"added": "", "retired": "retired", "compromised": "compromised"}
_PUBLIC = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Key:
    """One line of a key ring; `state` is empty, `retired` or `compromised`."""

    name: str
    id: bytes
    public: bytes
    state: str
    size: int

    @property
    def is_compromised(self) -> bool:
        """Return whether somebody else may have signed with it."""
        return self.state == "compromised"


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """What the journal itself says of a key: added, retired or compromised, at a position."""

    position: int
    name: str
    public: str
    state: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """One checkpoint that was kept elsewhere, as read from its note."""

    origin: str
    size: int
    root: bytes
    head: str
    at_ms: int
    text: str
    signatures: tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class Report:
    """What was found. `is_good` is the answer; `problems` say what and where.

    `notices` are what a reader should know and what proves no tampering. `distrusted` counts the
    anchors that only a compromised key signed, and `breaks` tell for each such key which entries it
    leaves without an anchor of its time. `keys` is the journal's own record of its keys.
    """

    origin: str = ""
    entries: int = 0
    head: str = GENESIS
    anchors_good: int = 0
    anchored: int = 0
    distrusted: int = 0
    keys: list[KeyEntry] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def unanchored(self) -> int:
        """Return how many entries lie behind the last good checkpoint."""
        return self.entries - self.anchored

    @property
    def unanchored_from(self) -> int:
        """Return the first entry behind the last good checkpoint, or 0 if there is none."""
        return self.anchored + 1 if self.unanchored else 0

    @property
    def is_good(self) -> bool:
        """Return whether nothing is wrong; entries may still be unanchored."""
        return not self.problems

    def problem(self, text: str) -> None:
        """Note something wrong; the list is bounded, the verdict is not changed by that."""
        if len(self.problems) < _PROBLEMS_MAX:
            self.problems.append(text)

    def notice(self, text: str) -> None:
        """Note something a reader should know; bounded too."""
        if len(self.notices) < _PROBLEMS_MAX:
            self.notices.append(text)

    def lines(self) -> list[str]:
        """Return the report as people read it; what cannot be seen is written out."""
        found = [f"journal {self.origin}: {self.entries} entries, head {self.head}"]
        found.append(f"anchored up to {self.anchored}, good anchors: {self.anchors_good}")
        if self.unanchored:
            found.append(f"unanchored from {self.unanchored_from} on: only the chain fits there")
        found.append(f"anchors not counted, their key is compromised: {self.distrusted}")
        found += [
            f"key {one.name} {one.state} at {one.position}: {one.public}" for one in self.keys
        ]
        found += [f"break: {text}" for text in self.breaks]
        found += [f"notice: {text}" for text in self.notices]
        found += [f"problem: {text}" for text in self.problems]
        found.append("nothing is wrong" if self.is_good else "this journal is not what was written")
        return [shown(line) for line in found]


def verify(
    lines: Iterable[bytes],
    *,
    anchors: str = "",
    keys: str = "",
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Verify an export against anchors, with the text of the key ring that is trusted.

    1. The export names its format and origin.
    2. Positions count from 1 without gaps, and each body names its own.
    3. Each hash is the one that its predecessor and its body give.
    4. Each anchor is signed by a key of the ring, is for this origin, and at its size the chain's
       head and the tree's root are the ones it names.
    5. The journal is not shorter than any good anchor: it was not cut off or wound back.
    6. What only a compromised key signed is told, and neither proves nor disproves anything.

    `progress` is told the position every 10,000 entries.
    """
    report, source = Report(), iter(lines)
    # 1
    first = next(source, b"").rstrip(b"\n")
    if not first.startswith(EXPORT + b" "):
        report.problem("the first line does not name the format of an export")
        return report
    report.origin = first[len(EXPORT) + 1 :].decode("utf-8", "replace")
    # 4, as far as it does not need the entries
    ring = list(read_keys(keys, report.problem))
    watch = _Watch(_counted(anchors, ring, report), report, progress)
    _walk(source, watch, report)
    # 5
    watch.end()
    # 6
    report.breaks = [_break(key, watch.good, report.entries) for key in ring if key.is_compromised]
    _cross_check(ring, report)
    return report


def read_keys(text: str, problem: Callable[[str], None]) -> Iterator[Key]:
    """Yield the keys of a key ring; what is no key, does not fit or stands there twice is told."""
    seen: set[bytes] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        match = _KEY.fullmatch(line)
        if match is None:
            if line:
                problem(f"line {number} of the key ring is not a key")
            continue
        decoded = base64.b64decode(match["key"])
        hashed = hashlib.sha256(match["name"].encode("utf-8") + b"\n" + decoded).digest()
        if decoded[:1] != b"\x01" or hashed[:4].hex() != match["id"]:
            problem(f"line {number} of the key ring has an id or a kind that does not fit")
        elif decoded in seen:
            problem(f"line {number} of the key ring repeats a key")
        else:
            seen.add(decoded)
            state, size = match["retired"] or match["compromised"] or "", int(match["size"] or 0)
            yield Key(match["name"], hashed[:4], decoded[1:], state, size)


def read_anchors(text: str, problem: Callable[[str], None]) -> Iterator[Anchor]:
    """Yield the checkpoints of an anchor file; what is no note is a problem."""
    if _NOTE.sub("", text).strip():
        problem("the anchor file holds something that is not a checkpoint")
    for match in _NOTE.finditer(text):
        try:
            root = base64.b64decode(match["root"], validate=True)
            named = [line.split(" ")[1:] for line in match["signed"].splitlines()]
            signed = tuple((name, base64.b64decode(data, validate=True)) for name, data in named)
        except (binascii.Error, ValueError):
            problem("a checkpoint holds base64 that cannot be decoded")
            continue
        size, time = int(match["size"]), int(match["time"])
        yield Anchor(match["origin"], size, root, match["head"], time, match["text"], signed)


def signers(anchor: Anchor, ring: Iterable[Key]) -> list[Key]:
    """Return the keys of the ring that signed a checkpoint, compromised ones included."""
    message = anchor.text.encode("utf-8")
    return [
        key
        for key in ring
        if any(
            name == key.name
            and data[:4] == key.id
            and ed25519.is_valid(key.public, message, data[4:])
            for name, data in anchor.signatures
        )
    ]


def shown(text: str) -> str:
    """Return a text with everything that cannot be seen written out."""
    return "".join(one if one.isprintable() else f"\\u{{{ord(one):x}}}" for one in text)


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


@dataclass(slots=True)
class _Watch:
    """Where the walk stops: at the sizes of the anchors, and now and then to tell its progress."""

    pending: list[tuple[Anchor, bool]]  # the smallest last, and whether each counts
    report: Report
    progress: Callable[[int], None] | None
    good: list[int] = field(default_factory=list)

    def stop(self, position: int, head: str, tree: _Tree) -> int:
        """Compare the anchors of this size; return the position of the next stop."""
        if self.progress is not None and position and position % _STEP == 0:
            self.progress(position)
        while self.pending and self.pending[-1][0].size == position:
            anchor, is_trusted = self.pending.pop()
            if anchor.head != head or anchor.root != tree.root():
                self._told(f"rewritten: the anchor at {position} names another history", is_trusted)
            elif is_trusted:
                self.good.append(position)
                self.report.anchors_good += 1
                self.report.anchored = position
        ahead = position - position % _STEP + _STEP
        return min(ahead, self.pending[-1][0].size) if self.pending else ahead

    def end(self) -> None:
        """Tell of the anchors that lie behind the end."""
        left = self.report.entries
        for anchor, is_trusted in reversed(self.pending):
            self._told(f"cut off: an anchor names {anchor.size} entries, {left} left", is_trusted)

    def _told(self, text: str, is_trusted: bool) -> None:  # noqa: FBT001 - named at both calls
        # A contradiction by a compromised key is no problem: its thief can sign any history, and
        # could otherwise make every honest journal look broken by handing out one note. Nothing is
        # lost, because such an anchor does not count either: a rewritten journal stays unanchored.
        if is_trusted:
            self.report.problem(text)
        else:
            self.report.notice(f"{text}, by a key called compromised")


def _counted(anchors: str, ring: list[Key], report: Report) -> list[tuple[Anchor, bool]]:
    """Return the anchors of this journal that a key of the ring signed, and whether they count."""
    found = []
    for anchor in read_anchors(anchors, report.problem):
        by = signers(anchor, ring)
        is_trusted = any(not key.is_compromised for key in by)
        if not by:
            report.problem(f"the anchor at {anchor.size} is not signed by a trusted key")
        elif not is_trusted:
            report.distrusted += 1
            report.notice(f"the anchor at {anchor.size} is signed only by a key called compromised")
        elif anchor.origin != report.origin:
            report.problem(f"an anchor is for `{anchor.origin}`")
        if by and anchor.origin == report.origin:
            found.append((anchor, is_trusted))
    return sorted(found, key=lambda one: one[0].size, reverse=True)


def _walk(lines: Iterator[bytes], watch: _Watch, report: Report) -> None:
    """Check every entry and, at their sizes, the anchors."""
    tree, previous, sha256 = _Tree(), GENESIS.encode(), hashlib.sha256
    stop = watch.stop(0, GENESIS, tree)
    for position, line in enumerate(lines, start=1):
        parts, number = line.rstrip(b"\n").split(b" ", 2), b"%d" % position
        # 2
        if len(parts) != 3 or parts[0] != number:  # noqa: PLR2004 - the three columns
            report.problem(f"entry {position} is missing or out of order")
            break
        _, claimed, body = parts
        if b'"n":%b,' % number not in body and b'"n":%b}' % number not in body:
            report.problem(f"entry {position} does not name its own position")
        # 3
        digest = sha256(b"avow-journal-1\n" + previous + b"\n" + body).digest()
        if digest.hex().encode() != claimed:
            report.problem(f"entry {position} is not what was written: its hash does not fit")
            break
        previous = claimed
        tree.add(digest)
        report.entries = position
        if b'"kind":"key"' in body:
            _record(position, body, report)
        if position == stop:
            stop = watch.stop(position, previous.decode(), tree)
    report.head = previous.decode()


def _record(position: int, body: bytes, report: Report) -> None:
    """Keep what an entry says of a key, if that is what it is about."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = {"kind": "key"}
    match said:
        case {"kind": "key", "name": str(name), "public": str(public), "state": str(state)} if (
            _PUBLIC.fullmatch(public) and state in _STATES
        ):
            report.keys.append(KeyEntry(position, name, public, state))
        case {"kind": "key"}:
            report.notice(f"entry {position} speaks of a key and cannot be read")
        case _:
            pass  # the words stood somewhere else in the body


def _break(key: Key, good: list[int], entries: int) -> str:
    """Tell what rested on a compromised key alone when its compromise was declared.

    A later anchor by another key proves those entries as they stood then, and not before.
    """
    before = max((size for size in good if size <= key.size), default=0)
    later = min((size for size in good if size > key.size), default=0)
    first, last = before + 1, min(key.size, entries)
    start = f"the key {key.name} was called compromised at {key.size}"
    if first > last:
        return f"{start}: no entry rests on it alone"
    found = f"{start}: entries {first} to {last} had no anchor by another key"
    return f"{found} before the one at {later}" if later else found


def _cross_check(ring: list[Key], report: Report) -> None:
    """Tell where the journal's record of its keys and the ring differ.

    It changes nothing. Were the journal believed, whoever rewrites it could add that the key of the
    old anchors is compromised, and so be rid of them.
    """
    last = {(entry.name, entry.public): entry for entry in report.keys if ring}
    held = {(key.name, key.public.hex()): key for key in ring}
    for named, entry in last.items():
        start = f"entry {entry.position} calls a key {entry.state} that the key ring"
        if named not in held:
            report.notice(f"{start} does not hold")
        elif held[named].state != _STATES[entry.state]:
            report.notice(f"{start} calls {held[named].state or 'in use'}")
    names = {name for name, _ in last}
    for named, key in held.items():
        if key.name in names and named not in last:
            report.notice(f"the key ring holds a key of `{key.name}` that no entry names")
        if key.size > report.entries:
            report.notice(f"the key ring tells of {key.size} entries, {report.entries} are here")
