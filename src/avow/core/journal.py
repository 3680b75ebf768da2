"""The journal's chain: every entry carries the hash of the one before it.

Owns how entries are linked and how a text that may have to be erased one day enters a body: as a
salted digest, with the text itself kept beside the chain. It stores nothing and reads no clock.
The stand-alone verifier shares only the hash function with this module.

Clauses: ICNLI-12.5.01, ICNLI-12.5.03.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from avow.core import canonical

GENESIS = "0" * 64
_ENTRY = b"avow-journal-1\n"
_ERASABLE = b"avow-erasable-1\n"
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """One linked entry; positions count from 1 without gaps."""

    position: int
    previous: str
    body: bytes
    hash: str


@dataclass(frozen=True, slots=True)
class Erasable:
    """A text beside the chain; its digest stands in the body, and outlives the text."""

    field: str
    salt: bytes
    text: str

    @property
    def digest(self) -> str:
        """Return what the body holds in place of the text."""
        salted = _ERASABLE + self.salt + self.text.encode("utf-8")
        return hashlib.sha256(salted).hexdigest()


def export_header(origin: str) -> bytes:
    """Return the first line of an export."""
    return f"avow-journal-export-1 {origin}\n".encode()


def exported(entry: Entry) -> bytes:
    """Return one line of an export: position, hash, body. A canonical body has no line breaks."""
    return b"%d %s %s\n" % (entry.position, entry.hash.encode("ascii"), entry.body)


def link(position: int, previous: str, content: dict[str, Any]) -> Entry:
    """Return the entry that follows `previous`; its body names its own position."""
    body = canonical.encode_own({**content, "n": position})
    return Entry(position, previous, body, hash_of(previous, body))


def hash_of(previous: str, body: bytes) -> str:
    """Return the hash of an entry: over a domain, the hash before it, and its body."""
    return hashlib.sha256(_ENTRY + previous.encode("ascii") + b"\n" + body).hexdigest()
