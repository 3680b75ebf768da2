"""Signatures on declarations and permits: what exactly is signed.

Owns the signed bytes: a domain, who signs, the id and the time of the signature, then the RFC 8785
form of the document. Everything the check relies on is among them. It checks no signature itself
and knows no key: the key is the registry's, never the document's.

Clauses: IRL-6.14.
"""

from dataclasses import dataclass
from typing import Any

from avow.core import canonical

_DOMAIN = "avow-record-1"
_PERMIT = b"avow-permit-1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The signature of a declaration, and the bytes it claims to cover."""

    did: str
    id: str
    signed_ms: int
    value: bytes
    document: bytes

    @property
    def message(self) -> bytes:
        """Return the bytes that were signed."""
        return message(self.did, self.id, self.signed_ms, self.document)


def message(did: str, seal_id: str, signed_ms: int, document: bytes) -> bytes:
    """Return the bytes to sign; neither `did` nor `seal_id` can hold a line feed."""
    head = f"{_DOMAIN}\n{did}\n{seal_id}\n{signed_ms}\n"
    return head.encode("utf-8") + document


def permit_message(content: dict[str, Any]) -> bytes:
    """Return the bytes that the signature of a permit covers."""
    return _PERMIT + canonical.encode(content)
