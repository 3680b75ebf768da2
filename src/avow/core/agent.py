"""An agent as it was registered: how far it is trusted, and the digest of its key.

Owns the value and how keys are made and digested. A key is 160 bits from the caller's entropy, so
its plain SHA-256 can be stored and looked up; it is shown once, when it is made, and never again.

Clauses: IRL-2.04.
"""

import hashlib
from dataclasses import dataclass

from avow.core.words import Trust

KEY_PREFIX = "avow_"
KEY_BYTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One registered agent; a revoked one stays known, and is trusted no more."""

    id: str
    trust: Trust
    key_digest: str
    added_ms: int
    did: str | None = None
    revoked_ms: int | None = None

    @property
    def trust_now(self) -> Trust | None:
        """Return the trust that counts: none at all once it was revoked."""
        return None if self.revoked_ms is not None else self.trust


def key(entropy: bytes) -> str:
    """Return a fresh key; it begins with `avow_` so that scanners and people know it."""
    if len(entropy) != KEY_BYTES:
        raise AssertionError("a key takes 160 bits of entropy")
    return KEY_PREFIX + entropy.hex()


def key_digest(given: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(b"avow-key-1\n" + given.encode("utf-8")).hexdigest()
