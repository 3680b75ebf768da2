"""What a command works with inside a transaction, and what a query reads: the engine's two views.

Written once for every database.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from avow.adapters.store import journal
from avow.adapters.store.batch import Batch
from avow.adapters.store.connection import Connection
from avow.adapters.store.journal import JournalAppender
from avow.adapters.store.registry import AgentRepository, PersonRepository
from avow.adapters.store.ruling import BreakerRepository, PolicyRepository, ReadPolicy
from avow.adapters.store.verdicts import RepetitionRepository, VerdictReader, VerdictRepository
from avow.core import merkle
from avow.core.errors import FaultError, RefusedError
from avow.core.journal import Entry, Erasable
from avow.core.policy import Policy
from avow.engine.pulse import Pulse

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Memory:
    """What a writer remembers between transactions; all of it can be read again."""

    tenant: str
    read_policy: ReadPolicy
    pulse: Pulse
    policies: dict[str, Policy] = field(default_factory=dict)
    conclusions: set[str] = field(default_factory=set)


class Work:
    """The `Transaction` of the engine's ports."""

    def __init__(self, connection: Connection, memory: Memory) -> None:
        self.batch = Batch(connection)
        tenant = memory.tenant
        self.pulse = memory.pulse
        self.journal = JournalAppender(self.batch, tenant)
        self.agents = AgentRepository(self.batch, tenant)
        self.people = PersonRepository(self.batch, tenant)
        self.verdicts = VerdictRepository(self.batch, tenant, memory.conclusions)
        self.repetitions = RepetitionRepository(self.batch, tenant)
        self.policies = PolicyRepository(self.batch, tenant, memory.read_policy, memory.policies)
        self.breakers = BreakerRepository(self.batch, tenant)
        self._now_ms = 0

    def now_ms(self) -> int:
        """Return the time of the database's own clock, asked once a transaction."""
        if not self._now_ms:
            self._now_ms = self.batch.now_ms()
        return self._now_ms

    def run(self, command: Callable[["Work"], T]) -> T:
        """Run one command: if it raises, everything it did is taken back.

        Where the store itself failed nothing is taken back here: the whole transaction goes.
        """
        marks = self.journal.mark(), self.verdicts.mark(), self.repetitions.mark()
        counted = self.pulse.mark()
        self.batch.begin()
        try:
            answer = command(self)
        except BaseException as error:
            if isinstance(error, FaultError) and error.code.startswith("store."):
                raise
            self.pulse.back(counted)
            self.journal.back(marks[0])
            self.verdicts.back(marks[1])
            self.repetitions.back(marks[2])
            for repository in (self.agents, self.people, self.policies):
                repository.forget()
            self.batch.undo()
            raise
        self.batch.end()
        return answer

    def finish(self) -> None:
        """Write everything that waits; called once, before the commit."""
        self.journal.flush()
        self.batch.flush()
        if self.journal.entries:
            self.batch.announce()


class StoreView:
    """The `View` of the engine's ports, on a reading connection."""

    def __init__(self, connection: Connection, memory: Memory) -> None:
        self._connection = connection
        self._tenant = memory.tenant
        self.agents = AgentRepository(connection, memory.tenant)
        self.people = PersonRepository(connection, memory.tenant)
        self.verdicts = VerdictReader(connection, memory.tenant)
        self.policies = PolicyRepository(
            connection, memory.tenant, memory.read_policy, memory.policies
        )
        self.breakers = BreakerRepository(connection, memory.tenant)

    def now_ms(self) -> int:
        """Return the time of the database's own clock, in milliseconds."""
        return self._connection.now_ms()

    def entries(self, *, after: int, most: int) -> list[Entry]:
        """Return up to `most` entries behind a position, in order."""
        return journal.entries(self._connection, self._tenant, after=after, most=most)

    def text(self, position: int, field: str) -> Erasable | None:
        """Return a text beside the chain, or nothing if it was erased or never there."""
        return journal.text(self._connection, self._tenant, position, field)

    def origin(self) -> str:
        """Return where the journal comes from; nothing before it has begun."""
        return journal.origin(self._connection, self._tenant)

    def hash_at(self, position: int) -> str:
        """Return the hash of an entry."""
        if not 0 <= position <= self.size():
            raise RefusedError("journal.no_such_entry", f"there is no entry {position}")
        return journal.hash_at(self._connection, self._tenant, position)

    def size(self) -> int:
        """Return how many entries the journal has."""
        return journal.head(self._connection, self._tenant).position

    def root(self, size: int) -> bytes:
        """Return the root of the tree over the first `size` entries."""
        return merkle.root_of(0, size, journal.fetcher(self._connection, self._tenant))

    def inclusion(self, position: int, size: int) -> list[bytes]:
        """Return the path that proves an entry in the tree over the first `size` entries."""
        fetch = journal.fetcher(self._connection, self._tenant)
        return list(merkle.inclusion(position - 1, size, fetch))

    def consistency(self, first: int, second: int) -> list[bytes]:
        """Return the path that proves that one tree grew into another."""
        fetch = journal.fetcher(self._connection, self._tenant)
        return list(merkle.consistency(first, second, fetch))
