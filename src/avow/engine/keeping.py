"""Commands that keep the house: the first entry, keys of the journal, policies, breakers, erasure.

Each changes one thing and journals it in the same transaction.

Clauses: IRL-6.08, IRL-6.12, ICNLI-14.4.04.
"""

from dataclasses import dataclass

from avow.core.errors import ConflictError, RefusedError
from avow.core.policy import Policy
from avow.core.words import Means
from avow.engine.declare import note_breaker
from avow.engine.ports import Transaction

_FORGET_MOST = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Write the first entry of a journal, which names where it comes from."""

    origin: str
    version: str

    def __call__(self, transaction: Transaction) -> str:
        """Begin the journal unless it has begun; return its origin."""
        known = transaction.journal.origin(self.origin)
        if transaction.journal.size == 0:
            transaction.journal.append(
                {
                    "at": transaction.now_ms(),
                    "kind": "genesis",
                    "origin": known,
                    "version": self.version,
                }
            )
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteKey:
    """Journal that a key signs checkpoints from here on, or does no more."""

    by: str
    name: str
    public: str
    state: str

    def __call__(self, transaction: Transaction) -> int:
        """Append the entry and return its position."""
        entry = transaction.journal.append(
            {
                "at": transaction.now_ms(),
                "by": self.by,
                "kind": "key",
                "name": self.name,
                "public": self.public,
                "state": self.state,
            }
        )
        return entry.position


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """Put a policy in force in place of the one it replaces."""

    by: str
    policy: Policy
    replaces: str

    def __call__(self, transaction: Transaction) -> bool:
        """Adopt it; false if it is in force already; raise if another one came between."""
        before = transaction.policies.in_force()
        if before is not None and before.digest == self.policy.digest:
            return False
        now_ms = transaction.now_ms()
        if not transaction.policies.adopt(self.policy, replaces=self.replaces, at_ms=now_ms):
            raise ConflictError("policy.superseded", "another policy was adopted meanwhile")
        transaction.journal.append(
            {
                "at": now_ms,
                "by": self.by,
                "kind": "policy",
                "name": self.policy.name,
                "policy": self.policy.digest,
                "relaxes": list(self.policy.relaxes),
                "replaces": self.replaces,
                "version": self.policy.version,
            }
        )
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseBreaker:
    """Close a breaker by hand."""

    by: str
    agent: str
    means: Means

    def __call__(self, transaction: Transaction) -> None:
        """Close it, or raise if it is not open."""
        if not transaction.breakers.closed(self.agent, self.means):
            told = f"no breaker is open for {self.means.value} by `{self.agent}`"
            raise RefusedError("breaker.not_open", told)
        transaction.pulse.closed(self.agent, self.means)
        note_breaker(transaction, self.agent, self.means, "closed", by=f"person {self.by}")


class CloseDueBreakers:
    """Close the breakers whose quiet period is over."""

    def __call__(self, transaction: Transaction) -> int:
        """Close and journal them; return how many."""
        due = transaction.pulse.due(now_ms=transaction.now_ms())
        for agent, means in due:
            transaction.pulse.closed(agent, means)
            if transaction.breakers.closed(agent, means):
                note_breaker(transaction, agent, means, "closed", by="time")
        return len(due)


class ForgetRepetitions:
    """Forget what was kept to know a repetition by, once it has expired; nothing to journal."""

    def __call__(self, transaction: Transaction) -> int:
        """Forget some of them; return how many."""
        return transaction.repetitions.forget(now_ms=transaction.now_ms(), most=_FORGET_MOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Erase a text beside the chain for good; its digest and the chain stay."""

    by: str
    position: int
    field: str

    def __call__(self, transaction: Transaction) -> None:
        """Erase it, or raise if there is nothing to erase."""
        if not transaction.journal.erase(self.position, self.field):
            told = f"entry {self.position} has no text `{self.field}`"
            raise RefusedError("journal.nothing_to_erase", told)
        transaction.journal.append(
            {
                "at": transaction.now_ms(),
                "by": self.by,
                "entry": self.position,
                "field": self.field,
                "kind": "erasure",
            }
        )
