"""What the engine needs from the world, as narrow protocols; each has one contract suite.

An adapter implements one of these and passes the suite in `tests/contract` that bears its name.
"""

from typing import Protocol

from avow.core.policy import Policy


class Clock(Protocol):
    """The time; nothing else in Avow asks for it."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, UTC."""
        ...


class Entropy(Protocol):
    """Unpredictable bytes; nothing else in Avow asks for them."""

    def draw(self, size_bytes: int) -> bytes:
        """Return that many fresh bytes."""
        ...


class Signer(Protocol):
    """A key that signs; it must never show its secret, and a good signature must check as such."""

    name: str

    @property
    def public_key(self) -> bytes:
        """Return the 32 bytes of the public key."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the signature over a message."""
        ...


class PolicySource(Protocol):
    """A policy that may change while Avow runs.

    It must give the last good policy while the newest one is broken, must never give a policy
    that was only half read, and must raise on the first call if there is no good one at all.
    """

    def current(self) -> Policy:
        """Return the policy in force now."""
        ...
