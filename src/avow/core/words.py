"""The closed vocabularies of Avow, each a type of its own.

Owns the words and their order from mild to severe, and nothing else: no weights, no rules.
Where a vocabulary is ordered it is an `IntEnum`, so that `max` is the join of two opinions.

Clauses: IRL-2.03, IRL-2.07, IRL-2.08, IRL-2.17, IRL-2.18.
"""

from enum import IntEnum, StrEnum, unique


class Word(StrEnum):
    """A word that is its own text, hashed as such: the enumeration's own hash is a Python call."""

    __hash__ = str.__hash__


class Rank(IntEnum):
    """A word with a place in an order; `word` is its spelling in lower case."""

    __hash__ = int.__hash__

    def __init__(self, _place: int) -> None:
        self.word = self._name_.lower()


@unique
class Outcome(Rank):
    """What the machine concludes, from mild to severe; the join of two is their maximum."""

    ALLOW = 0
    LOG_ALLOW = 1
    GATE = 2
    DENY = 3

    def stricter(self) -> "Outcome":
        """Return the next outcome towards DENY; DENY stays DENY."""
        return Outcome(min(self + 1, Outcome.DENY))


@unique
class Trust(Rank):
    """How far an agent is known; `VERIFIED` also needs a valid signature."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    VERIFIED = 3


TRUST = {trust.word: trust for trust in Trust}


@unique
class Level(Rank):
    """The band a risk score falls into."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3


@unique
class Truth(Word):
    """A claim that may be missing: `UNKNOWN` is a value and is judged as the worse case."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@unique
class Means(Word):
    """How an effect is brought about; this decides risk and capability."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"
    NETWORK = "network"
    AUTH = "auth"
    SHELL = "shell"
    CHAIN = "chain"


@unique
class Predicate(Word):
    """What an effect is to its resource; this decides leases."""

    PROVIDES = "PROVIDES"
    CONSUMES = "CONSUMES"
    MUTATES = "MUTATES"
    DELETES = "DELETES"
    DEPENDS_ON = "DEPENDS_ON"


@unique
class Environment(Word):
    """Where a resource lives; what is not known counts as production."""

    LOCAL = "local"
    STAGING = "staging"
    PRODUCTION = "production"


SEVERITY = {Environment.LOCAL: 0, Environment.STAGING: 1, Environment.PRODUCTION: 2}


@unique
class Origin(Word):
    """Whether the agent said it or Avow found it out itself."""

    CLAIMED = "claimed"
    OBSERVED = "observed"


@unique
class DataLoss(Word):
    """How much data the agent says may be lost; `UNDECLARED` is shown at a gate as such."""

    NONE = "none"
    PARTIAL = "partial"
    TOTAL = "total"
    UNDECLARED = "undeclared"


@unique
class Scope(Word):
    """How long an effect lasts; absent is read as permanent."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"


@unique
class Signature(Word):
    """What was found when the signature of a declaration was checked, before judging."""

    VALID = "valid"
    INVALID = "invalid"
    ABSENT = "absent"


@unique
class Inspection(Word):
    """Whether the text that would really run could be read.

    `NOTHING` means the declaration holds no such text; `UNINSPECTABLE` that it does and nothing
    here could read it; `OBSERVED` that its effects were derived from it.
    """

    NOTHING = "nothing"
    UNINSPECTABLE = "uninspectable"
    OBSERVED = "observed"
