"""What the engine needs from the world, as narrow protocols; each has one contract suite.

An adapter implements one of these and passes the suite in `tests/contract` that bears its name.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from avow.core.agent import Agent
from avow.core.journal import Entry, Erasable
from avow.core.policy import Policy
from avow.core.principal import Person
from avow.core.words import Means
from avow.engine.pulse import Pulse

T = TypeVar("T")


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
    """A verdict as it is kept beside its entry of the journal.

    `expires_ms` is set where a human is asked: until then the question is open.
    """

    id: str
    position: int
    principal: str
    agent: str
    session: str
    intent: str
    outcome: str
    conclusion: str
    dialect: str
    at_ms: int
    expires_ms: int | None = None
    redeemed_ms: int | None = None
    reported_ms: int | None = None


class Repetition(NamedTuple):
    """Something that may come twice: who sent it, under which id, and what came of it."""

    principal: str
    kind: str
    id: str
    source: str
    verdict: str
    expires_ms: int


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

    def listed(self) -> list[Agent]:
        """Return all agents by id."""
        ...

    def revoke(self, agent_id: str, *, at_ms: int) -> bool:
        """Revoke an agent; false if it is unknown or was revoked before."""
        ...


class People(Protocol):
    """The registry of people; adding and revoking answer whether they changed something."""

    def add(self, person: Person) -> bool:
        """Register a person; false if there is one of that id, who stays as they were."""
        ...

    def find(self, person_id: str) -> Person | None:
        """Return a person by their id."""
        ...

    def by_key(self, digest: str) -> Person | None:
        """Return the person that a key belongs to."""
        ...

    def listed(self) -> list[Person]:
        """Return all people by id."""
        ...

    def revoke(self, person_id: str, *, at_ms: int) -> bool:
        """Revoke a person; false if they are unknown or were revoked before."""
        ...


class VerdictLookup(Protocol):
    """What was concluded, for reading."""

    def find(self, verdict_id: str) -> Concluded | None:
        """Return a verdict by its id."""
        ...

    def waiting(
        self, principal: str, session: str, intent: str, *, now_ms: int
    ) -> Concluded | None:
        """Return the open question of that principal about that very intent, if there is one."""
        ...

    def said(self, digest: str) -> str | None:
        """Return what verdicts say, by its digest."""
        ...


class Verdicts(VerdictLookup, Protocol):
    """What was concluded, inside a transaction."""

    def add(self, concluded: Concluded) -> None:
        """Keep one verdict beside its entry."""
        ...

    def redeem(self, verdict_id: str, *, at_ms: int) -> bool:
        """Mark a verdict as redeemed; false if it was before."""
        ...

    def report(self, verdict_id: str, *, at_ms: int) -> bool:
        """Mark a verdict as one whose outcome was told; false if it was before."""
        ...

    def keep(self, digest: str, said: str) -> None:
        """Keep what verdicts say, once for all that say the same."""
        ...


class Repetitions(Protocol):
    """What makes a repetition known."""

    def find(self, principal: str, kind: str, repeated: str, *, now_ms: int) -> Repetition | None:
        """Return what came of it before, unless that was forgotten by now."""
        ...

    def add(self, repetition: Repetition) -> None:
        """Remember it; one that has expired is replaced."""
        ...

    def forget(self, *, now_ms: int, most: int) -> int:
        """Forget up to so many that have expired; return how many."""
        ...


class Policies(Protocol):
    """The policies that were adopted, by digest."""

    def in_force(self) -> Policy | None:
        """Return the policy in force; none before the first was adopted."""
        ...

    def adopt(self, policy: Policy, *, replaces: str, at_ms: int) -> bool:
        """Put a policy in force; false if the one it replaces is not in force any more."""
        ...


class Breakers(Protocol):
    """The breakers that are open."""

    def opened(self, agent: str, means: Means, *, at_ms: int) -> None:
        """Keep that a breaker opened."""
        ...

    def closed(self, agent: str, means: Means) -> bool:
        """Keep that it closed; false if it was not open."""
        ...

    def listed(self) -> list[tuple[str, Means, int]]:
        """Return agent, means and opening of those that are open."""
        ...


class JournalEnd(Protocol):
    """The end of the journal inside a transaction."""

    @property
    def size(self) -> int:
        """Return how many entries there are, those of this transaction included."""
        ...

    def append(self, content: dict[str, Any], texts: Sequence[Erasable] = ()) -> Entry:
        """Link one entry to the end; its erasable texts enter the body as salted digests."""
        ...

    def origin(self, proposed: str) -> str:
        """Return where the journal comes from; `proposed` if it has no origin yet."""
        ...

    def hash_at(self, position: int) -> str:
        """Return the hash of an entry."""
        ...

    def erase(self, position: int, field: str) -> bool:
        """Erase a text beside the chain for good; false if there is none."""
        ...

    def text(self, position: int, field: str) -> Erasable | None:
        """Return a text beside the chain, or nothing if it was erased or never there."""
        ...


class View(Protocol):
    """One consistent state of everything, for reading."""

    @property
    def agents(self) -> Agents:
        """Return the registry of agents."""
        ...

    @property
    def people(self) -> People:
        """Return the registry of people."""
        ...

    @property
    def verdicts(self) -> VerdictLookup:
        """Return what was concluded."""
        ...

    @property
    def policies(self) -> Policies:
        """Return the policies that were adopted."""
        ...

    @property
    def breakers(self) -> Breakers:
        """Return the breakers that are open."""
        ...

    def now_ms(self) -> int:
        """Return the time of the store's own clock, in milliseconds."""
        ...

    def entries(self, *, after: int, most: int) -> list[Entry]:
        """Return up to `most` entries behind a position, in order."""
        ...

    def text(self, position: int, field: str) -> Erasable | None:
        """Return a text beside the chain, or nothing if it was erased or never there."""
        ...

    def size(self) -> int:
        """Return how many entries the journal has."""
        ...

    def origin(self) -> str:
        """Return where the journal comes from; nothing before it has begun."""
        ...

    def hash_at(self, position: int) -> str:
        """Return the hash of an entry, 64 zeros for 0; raise if there is none."""
        ...

    def root(self, size: int) -> bytes:
        """Return the root of the tree over the first `size` entries."""
        ...

    def inclusion(self, position: int, size: int) -> list[bytes]:
        """Return the path that proves an entry in the tree over the first `size` entries."""
        ...

    def consistency(self, first: int, second: int) -> list[bytes]:
        """Return the path that proves that one tree grew into another."""
        ...


class Transaction(Protocol):
    """What a command may use: everything it changes is committed together, or not at all."""

    @property
    def agents(self) -> Agents:
        """Return the registry of agents."""
        ...

    @property
    def people(self) -> People:
        """Return the registry of people."""
        ...

    @property
    def verdicts(self) -> Verdicts:
        """Return what was concluded."""
        ...

    @property
    def repetitions(self) -> Repetitions:
        """Return what makes a repetition known."""
        ...

    @property
    def policies(self) -> Policies:
        """Return the policies that were adopted."""
        ...

    @property
    def breakers(self) -> Breakers:
        """Return the breakers that are open."""
        ...

    @property
    def journal(self) -> JournalEnd:
        """Return the end of the journal."""
        ...

    @property
    def pulse(self) -> Pulse:
        """Return how fast agents have been acting, up to the end of the journal."""
        ...

    def now_ms(self) -> int:
        """Return the time of the store's own clock, in milliseconds; one time a transaction."""
        ...


Command = Callable[[Transaction], T]
Settle = Callable[[Any, BaseException | None], None]


class Writing(Protocol):
    """Executes commands one after another, many of them in one commit."""

    def submit(self, command: Command[Any], settle: Settle) -> None:
        """Queue a command; `settle` gets its answer after the commit, or the error."""
        ...


class Reading(Protocol):
    """Gives views."""

    def read(self, query: Callable[[View], T]) -> T:
        """Run a query on one consistent state and return its answer."""
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
