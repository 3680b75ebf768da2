"""A policy: the figures, the bands, the matrix and the rules that judge, as one frozen value.

Owns the shape of a policy and nothing of its reading (`policy_reading`), its conditions
(`condition`) or its comparison with the built-in one (`relaxing`). A policy that exists is
complete and consistent, and its digest names it.

Clauses: IRL-3.05, IRL-3.06, IRL-6.12.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from avow.core.condition import Condition
from avow.core.finding import Finding
from avow.core.words import Environment, Level, Means, Outcome, Trust

# One more than the highest hazard: a switch set to it never applies.
NEVER = 5
# The fields of a case whose values are endless; all others have a handful each.
OPEN_FIELDS = frozenset({"resource", "rows", "agent", "dialect"})


class TrustSource(StrEnum):
    """Whose word on an agent's trust counts."""

    REGISTERED = "registered"
    DECLARED = "declared"


class Point(NamedTuple):
    """One named contribution to a score; `is_reason` tells whether the reasons list it."""

    name: str
    points: int
    is_reason: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each circumstance adds, zero or more; `discounts` are subtracted."""

    means: Mapping[Means, Point]
    production: Point
    irreversible: Point
    unverified: Point
    no_alternatives: Point
    affects_backups: Point
    delete_without_rollback: Point
    total_data_loss: Point
    discounts: Mapping[Trust, int]

    def listed(self) -> tuple[Point, ...]:
        """Return every point, the means first, in the order they are added."""
        return (
            *self.means.values(),
            self.production,
            self.irreversible,
            self.unverified,
            self.no_alternatives,
            self.affects_backups,
            self.delete_without_rollback,
            self.total_data_loss,
        )


@dataclass(frozen=True, slots=True)
class Band:
    """One level: where it starts and what it leads to."""

    level: Level
    start: int
    outcome: Outcome
    id: str
    slug: str
    hint: str


@dataclass(frozen=True, slots=True)
class Bands:
    """The four bands in ascending order; every score has exactly one level."""

    bands: tuple[Band, Band, Band, Band]

    def level(self, score: int) -> Level:
        """Return the level of a score."""
        _, medium, high, critical = self.bands
        if score >= critical.start:
            return Level.CRITICAL
        if score >= high.start:
            return Level.HIGH
        return Level.MEDIUM if score >= medium.start else Level.LOW

    def band(self, level: Level) -> Band:
        """Return the band of a level."""
        return self.bands[level]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The least outcome by means and environment; every cell is filled."""

    id: str
    slug: str
    cells: Mapping[tuple[Means, Environment], Outcome]
    findings: Mapping[tuple[Means, Environment], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry with an id: when it holds, the outcome is at least `outcome`.

    A rule can only harden. `because` adds phrases to its sentence, `hint` tells the agent what
    would be accepted; `finding` is the ready-made result for the sentence without phrases.
    """

    id: str
    slug: str
    outcome: Outcome
    step: bool
    says: str
    hint: str
    when: Condition
    because: tuple[tuple[Condition, str], ...]
    finding: Finding


# Compared by identity: two policies with one digest are equal in meaning, and hashing the whole
# on every judgement would cost more than judging.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """A versioned set of everything that judges.

    `source` is the canonical text that `policy_reading.read` reads to the same policy again.
    `asks_open_fields` tells whether a rule looks at a field with endless values. `relaxes` lists
    in words what is softer than the built-in policy; it is empty unless `allow_relaxing` was set.
    The hazard switches hold the lowest hazard at which they apply, `NEVER` for not at all.
    """

    name: str
    version: str
    digest: str
    summary: str
    allow_relaxing: bool
    trust_source: TrustSource
    evidence_from_hazard: int
    backups_assumed_from_hazard: int
    rollback_needs_snapshot: bool
    weights: Weights
    bands: Bands
    matrix: Matrix | None
    rules: tuple[Rule, ...]
    asks_open_fields: bool
    source: str = field(repr=False)
    relaxes: tuple[str, ...] = ()
