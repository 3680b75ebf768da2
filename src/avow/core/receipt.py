"""Receipts: one entry with what proves that it stands in the journal, for its holder to keep.

Owns the value and its text: the entry, its path in the tree, the checkpoint whose root the path
leads to, and the erasable texts that the holder may see, each with its salt. Reading refuses what
does not have the form or contradicts itself; whether path, signature and texts fit is for
`avow.clients.receipts` to check, which shares no code with this module.

Clauses: IRL-6.03, ICNLI-12.5.04.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from avow.core import canonical, checkpoint
from avow.core.checkpoint import Note
from avow.core.errors import MalformedError, Problem
from avow.core.journal import SALT_BYTES, Entry, Erasable

VERSION = "avow-receipt-1"
_CODE = "checkpoint.invalid"
_HASH = re.compile(r"[0-9a-f]{64}")
_SALT = re.compile(rf"[0-9a-f]{{{SALT_BYTES * 2}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One entry and the way from it to a signed checkpoint; nothing is said about whether it fits.

    `path` runs from the leaf upward; `note` is the checkpoint as it was given out.
    """

    origin: str
    position: int
    previous: str
    body: bytes
    size: int
    path: tuple[bytes, ...]
    note: str
    texts: tuple[Erasable, ...] = ()

    def written(self) -> str:
        """Return the receipt as one JSON object, in the canonical form of RFC 8785."""
        texts = {one.field: {"salt": one.salt.hex(), "text": one.text} for one in self.texts}
        return canonical.written(
            {
                "format": VERSION,
                "origin": self.origin,
                "position": self.position,
                "previous": self.previous,
                "body": self.body.decode("utf-8"),
                "size": self.size,
                "path": [one.hex() for one in self.path],
                "checkpoint": self.note,
                "texts": texts,
            }
        )


def issued(
    entry: Entry, *, note: Note, path: tuple[bytes, ...], texts: Iterable[Erasable] = ()
) -> Receipt:
    """Return the receipt of an entry under a checkpoint; `texts` is what the holder may see."""
    found = checkpoint.read(note.text)
    return Receipt(
        origin=found.origin,
        position=entry.position,
        previous=entry.previous,
        body=entry.body,
        size=found.size,
        path=path,
        note=note.written(),
        texts=tuple(sorted(texts, key=lambda one: one.field)),
    )


def read(text: str) -> Receipt:
    """Return the receipt that a text holds, or raise with every problem and its path.

    1. It is one JSON object that names no member twice and has exactly those of a receipt.
    2. Each member has its form.
    3. The checkpoint can be read, and names the same journal and size; the entry lies within it.
    """
    # 1
    found = _parsed(text)
    told = [(name, "the member is missing") for name in _MEMBERS if name not in found]
    told += [(name, "a receipt has no such member") for name in found if name not in _MEMBERS]
    # 2
    told += [
        (name, f"it must be {form}")
        for name, (holds, form) in _MEMBERS.items()
        if name in found and not holds(found[name])
    ]
    if told:
        raise _malformed(told)
    receipt = _built(found)
    # 3
    contradictions = list(_contradictions(receipt))
    if contradictions:
        raise _malformed(contradictions)
    return receipt


def _is_version(value: Any) -> bool:
    return bool(value == VERSION)


def _is_text(value: Any) -> bool:
    """Return whether it is a text that has bytes: no half of a surrogate pair."""
    if not isinstance(value, str):
        return False
    return not any("\ud800" <= one <= "\udfff" for one in value)


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _is_count(value: Any) -> bool:
    # True is an int to Python and none to JSON.
    return type(value) is int and 0 < value <= canonical.INTEGER_MAX


def _is_path(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_hash, value))


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict)
        and one.keys() == {"salt", "text"}
        and isinstance(one["salt"], str)
        and _SALT.fullmatch(one["salt"]) is not None
        and _is_text(one["text"])
        and _is_text(field)
        for field, one in value.items()
    )


# Each member of the object, what it must be, and how that is said.
_MEMBERS = {
    "format": (_is_version, f"`{VERSION}`"),
    "origin": (_is_text, "a text"),
    "position": (_is_count, "a whole number from 1 on"),
    "previous": (_is_hash, "64 hex digits"),
    "body": (_is_text, "a text"),
    "size": (_is_count, "a whole number from 1 on"),
    "path": (_is_path, "a list of hashes of 64 hex digits"),
    "checkpoint": (_is_text, "a text"),
    "texts": (_is_texts, "an object of texts, each with a salt of 32 hex digits"),
}


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise _malformed([("", "a receipt is one JSON object without repeated members")]) from None
    if not isinstance(found, dict):
        raise _malformed([("", "a receipt is one JSON object")])
    return found


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a member that stands there twice, because two readers could see two receipts."""
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a repeated member")
    return found


def _built(found: dict[str, Any]) -> Receipt:
    texts = (
        Erasable(field, bytes.fromhex(one["salt"]), one["text"])
        for field, one in sorted(found["texts"].items())
    )
    return Receipt(
        origin=found["origin"],
        position=found["position"],
        previous=found["previous"],
        body=found["body"].encode("utf-8"),
        size=found["size"],
        path=tuple(map(bytes.fromhex, found["path"])),
        note=found["checkpoint"],
        texts=tuple(texts),
    )


def _contradictions(receipt: Receipt) -> Iterator[tuple[str, str]]:
    if receipt.position > receipt.size:
        yield "position", "the entry lies behind the checkpoint"
    try:
        named = checkpoint.read(checkpoint.read_note(receipt.note).text)
    except MalformedError as error:
        yield from (("checkpoint", problem.message) for problem in error.problems)
        return
    if named.origin != receipt.origin:
        yield "origin", "the checkpoint is of another journal"
    if named.size != receipt.size:
        yield "size", "the checkpoint names another size"


def _malformed(told: Iterable[tuple[str, str]]) -> MalformedError:
    return MalformedError(_CODE, [Problem(path, _CODE, message) for path, message in told])
