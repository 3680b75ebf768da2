"""What the engine needs from the world, as narrow protocols; each has one contract suite.

An adapter implements one of these and passes the suite in `tests/contract` that bears its name.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from avow.core.agent import Agent
from avow.core.journal import Entry, Erasable
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


class Concluded(NamedTuple):
    """A verdict as it is kept beside its entry of the journal."""

    id: str
    position: int
    agent: str
    intent: str
    outcome: str
    at_ms: int


class Agents(Protocol):
    """The registry of agents; adding and revoking answer whether they changed something."""

    def add(self, agent: Agent) -> bool:
        """Register an agent; false if there is one of that id, which stays as it was."""
        ...

    def find(self, agent_id: str) -> Agent | None:
        """Return an agent by its id."""
        ...

    def by_key(self, digest: str) -> Agent | None:
        """Return the agent that a key belongs to."""
        ...

    def revoke(self, agent_id: str, *, at_ms: int) -> bool:
        """Revoke an agent; false if it is unknown or was revoked before."""
        ...


class Verdicts(Protocol):
    """What was concluded."""

    def add(self, concluded: Concluded) -> None:
        """Keep one verdict beside its entry."""
        ...

    def find(self, verdict_id: str) -> Concluded | None:
        """Return a verdict by its id."""
        ...


class JournalEnd(Protocol):
    """The end of the journal inside a transaction."""

    def append(self, content: dict[str, Any], texts: Sequence[Erasable] = ()) -> Entry:
        """Link one entry to the end; its erasable texts enter the body as salted digests."""
        ...


class Transaction(Protocol):
    """What a command may use: everything it changes is committed together, or not at all."""

    @property
    def agents(self) -> Agents:
        """Return the registry of agents."""
        ...

    @property
    def verdicts(self) -> Verdicts:
        """Return what was concluded."""
        ...

    @property
    def journal(self) -> JournalEnd:
        """Return the end of the journal."""
        ...

    def now_ms(self) -> int:
        """Return the time of the store's own clock, in milliseconds."""
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
