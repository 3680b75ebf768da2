"""The stand-alone check of receipts, and of the step from one checkpoint to a later one.

A stranger copies this file, `verifier.py` and `ed25519.py`, needs only Python, and trusts neither
the server nor whoever handed the receipt over. A receipt called good proves that the journal held
this entry at this position when a key of the ring signed the checkpoint. It does not prove that the
journal still holds it: for that, ask for a later checkpoint and the path between the two.

Nothing here raises because of what it was given: whatever is wrong is a problem in the report.

Clauses: IRL-6.03, ICNLI-12.5.04.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from avow.clients.verifier import GENESIS, Anchor, read_anchors, read_keys, shown, signers

RECEIPT = "avow-receipt-1"
_HASH = re.compile(r"[0-9a-f]{64}")
_SALT = re.compile(r"[0-9a-f]{32}")
# The members of a receipt, and of what type each is.
_MEMBERS: dict[str, type] = {
    "format": str,
    "origin": str,
    "position": int,
    "previous": str,
    "body": str,
    "size": int,
    "path": list,
    "checkpoint": str,
    "texts": dict,
}


@dataclass(slots=True)
class ReceiptReport:
    """What a receipt shows. Read nothing from it but `problems` unless `is_good`.

    `signed_by` names the keys of the ring that signed the checkpoint and are not compromised;
    `texts` are those shown beside the entry whose digests stand in its body.
    """

    origin: str = ""
    position: int = 0
    size: int = 0
    at_ms: int = 0
    entry_hash: str = ""
    signed_by: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Return whether everything fits and a key that is trusted signed it."""
        return not self.problems

    def lines(self) -> list[str]:
        """Return the report as people read it; what cannot be seen is written out."""
        found = [f"entry {self.position} of {self.origin}, hash {self.entry_hash}"]
        found.append(
            f"checkpoint at {self.size}, signed by {', '.join(self.signed_by) or 'nobody'}"
        )
        found += [f"{name}: {text}" for name, text in self.texts.items()]
        found += [f"problem: {text}" for text in self.problems]
        found.append("nothing is wrong" if self.is_good else "this receipt proves nothing")
        return [shown(line) for line in found]


@dataclass(slots=True)
class ConsistencyReport:
    """Whether a later checkpoint only adds to an earlier one; a notice is no fault of the path."""

    origin: str = ""
    first: int = 0
    second: int = 0
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Return whether the first tree is the beginning of the second, and both are signed."""
        return not self.problems


def check(text: str, *, keys: str) -> ReceiptReport:
    """Check a receipt with the text of the key ring that is trusted.

    1. It is one JSON object that names no member twice and has exactly those of a receipt.
    2. The body is one JSON object that names its own position.
    3. The checkpoint is for this journal and this size, and a key signed it that is in the ring and
       not compromised: a thief could sign a checkpoint for any tree.
    4. The hash recomputed from the body is the leaf from which the path, with exactly as many steps
       as the tree has there, leads to the root; the last entry's hash is also the chain's head.
    5. Each text that is shown has the digest that stands in the body.
    """
    report = ReceiptReport()
    # 1
    found = _read(text)
    if isinstance(found, str):
        report.problems.append(found)
        return report
    report.origin, report.position, report.size = (
        found[name] for name in ("origin", "position", "size")
    )
    body = found["body"].encode("utf-8")
    linked = b"avow-journal-1\n" + found["previous"].encode() + b"\n" + body
    report.entry_hash = hashlib.sha256(linked).hexdigest()
    # 2
    said = _object(found["body"])
    number = None if said is None else said.get("n")
    if said is None:
        report.problems.append("the body is not one JSON object")
    elif type(number) is not int or number != report.position:
        report.problems.append("the body does not name its own position")
    if report.position == 1 and found["previous"] != GENESIS:
        report.problems.append("before the first entry there is none")
    # 3
    anchor = _note(found["checkpoint"], "the checkpoint", report.problems)
    if anchor is not None:
        _check_note(anchor, keys, report)
        # 4
        _check_path(anchor, tuple(map(bytes.fromhex, found["path"])), report)
    # 5
    _check_texts(found["texts"], said or {}, report)
    return report


def check_consistency(
    first_note: str, second_note: str, path: Sequence[str], *, keys: str
) -> ConsistencyReport:
    """Check that the second checkpoint only adds to the first, by a path of hashes in hex.

    1. Both are checkpoints of one journal, and the second is not the smaller.
    2. The second is signed by a key of the ring that is not compromised. The first may be signed by
       a compromised one: if the path fits, the second proves it, and that is told as a notice.
    3. The path gives both roots at once; equal sizes need equal checkpoints and no path.
    """
    report = ConsistencyReport()
    problem = report.problems.append
    # 1
    first = _note(first_note, "the first checkpoint", report.problems)
    second = _note(second_note, "the second checkpoint", report.problems)
    hashes = _hashes(path)
    if hashes is None:
        problem("the path is not a list of hashes of 64 hex digits")
    if first is None or second is None or hashes is None:
        return report
    report.origin, report.first, report.second = first.origin, first.size, second.size
    if first.origin != second.origin:
        problem("the checkpoints are of two journals")
    # 2
    ring = list(read_keys(keys, problem))
    by_first, by_second = signers(first, ring), signers(second, ring)
    if all(key.is_compromised for key in by_second):
        problem("the second checkpoint is not signed by a key that is trusted")
    if not by_first:
        problem("the first checkpoint is not signed by a trusted key")
    elif all(key.is_compromised for key in by_first):
        report.notices.append("the first checkpoint is signed only by a key called compromised")
    # 3
    if not _extends(first, second, hashes):
        problem("the path does not lead from the first checkpoint to the second")
    return report


def _read(text: str) -> dict[str, Any] | str:
    """Return the members of a receipt, or what is wrong with its form."""
    found = _object(text)
    if found is None:
        return "a receipt is one JSON object without repeated members"
    # `type` and not `isinstance`, because True is an int to Python and none to JSON.
    if {name: type(value) for name, value in found.items()} != _MEMBERS:
        return "the members are not those of a receipt, or not of their types"
    must = {
        "the receipt is of another version": found["format"] == RECEIPT,
        "a hash is not written in 64 hex digits": _hashes([found["previous"], *found["path"]]),
        "the entry lies outside the checkpoint": 0 < found["position"] <= found["size"],
        "a text holds half a surrogate pair": _has_bytes(found["body"] + found["origin"]),
    }
    return next((told for told, holds in must.items() if not holds), found)


def _object(text: str) -> dict[str, Any] | None:
    """Return the JSON object of a text, or nothing if it is none or repeats a member."""
    try:
        found = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    # Where a member stands twice, two readers could see two receipts.
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a repeated member")
    return found


def _has_bytes(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _hashes(path: Sequence[Any]) -> tuple[bytes, ...] | None:
    if not all(isinstance(one, str) and _HASH.fullmatch(one) for one in path):
        return None
    return tuple(map(bytes.fromhex, path))


def _note(text: str, name: str, problems: list[str]) -> Anchor | None:
    """Return the one checkpoint that a text is, and nothing beside it."""
    told: list[str] = []
    found = list(read_anchors(text, told.append))
    if told or len(found) != 1:
        problems.append(f"{name} is not one signed note")
        return None
    return found[0]


def _check_note(anchor: Anchor, keys: str, report: ReceiptReport) -> None:
    report.at_ms = anchor.at_ms
    if anchor.origin != report.origin:
        report.problems.append("the checkpoint is of another journal")
    if anchor.size != report.size:
        report.problems.append("the checkpoint names another size")
    by = signers(anchor, read_keys(keys, report.problems.append))
    report.signed_by = [key.name for key in by if not key.is_compromised]
    if not by:
        report.problems.append("the checkpoint is not signed by a trusted key")
    elif not report.signed_by:
        report.problems.append("the checkpoint is signed only by a key called compromised")


def _check_path(anchor: Anchor, path: tuple[bytes, ...], report: ReceiptReport) -> None:
    sides = list(_sides(report.position - 1, report.size))
    if len(path) != len(sides):
        report.problems.append(f"the path has {len(path)} steps, and the tree {len(sides)}")
        return
    here = hashlib.sha256(b"\x00" + bytes.fromhex(report.entry_hash)).digest()
    for sibling, is_left in zip(path, reversed(sides), strict=True):
        here = _parent(sibling, here) if is_left else _parent(here, sibling)
    if here != anchor.root:
        report.problems.append("the path does not lead to the root of the checkpoint")
    if report.position == report.size and report.entry_hash != anchor.head:
        report.problems.append("the last entry is not the head that the checkpoint names")


def _check_texts(texts: dict[str, Any], said: dict[str, Any], report: ReceiptReport) -> None:
    for name, one in texts.items():
        match one:
            case {"salt": str(salt), "text": str(text), **rest} if (
                not rest and _SALT.fullmatch(salt) and _has_bytes(text)
            ):
                salted = b"avow-erasable-1\n" + bytes.fromhex(salt) + text.encode("utf-8")
                if said.get(name) == {"sha256": hashlib.sha256(salted).hexdigest()}:
                    report.texts[name] = text
                else:
                    report.problems.append(f"the text `{name}` is not the one in the entry")
            case _:
                report.problems.append(f"the text `{name}` is not a text with its salt")


def _parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """Return where a tree parts: at the largest power of two below its size."""
    return 1 << ((size - 1).bit_length() - 1)


def _sides(index: int, size: int) -> Iterator[bool]:
    """Yield from the root down to a leaf whether its sibling is on the left (RFC 9162, 2.1.3)."""
    while size > 1:
        split = _split(size)
        yield index >= split
        index, size = (index - split, size - split) if index >= split else (index, split)


def _extends(first: Anchor, second: Anchor, path: tuple[bytes, ...]) -> bool:
    if first.size > second.size:
        return False
    if first.size == second.size:
        return not path and (first.root, first.head) == (second.root, second.head)
    if first.size == 0:
        return not path and first.root == hashlib.sha256(b"").digest() and first.head == GENESIS
    steps = list(_steps(first.size, second.size))
    # A first tree that is one complete subtree of the second is its own beginning.
    is_whole = not any(steps)
    if len(path) != len(steps) + (not is_whole):
        return False
    start, siblings = (first.root, path) if is_whole else (path[0], path[1:])
    old = new = start
    for sibling, is_left in zip(siblings, reversed(steps), strict=True):
        old = _parent(sibling, old) if is_left else old
        new = _parent(sibling, new) if is_left else _parent(new, sibling)
    return old == first.root and new == second.root


def _steps(first: int, second: int) -> Iterator[bool]:
    """Yield from the second root down to the first tree's end, as `_sides` (RFC 9162, 2.1.4)."""
    while first != second:
        split = _split(second)
        yield first > split
        first, second = (first - split, second - split) if first > split else (first, split)
