"""A finding: what one check concluded about one effect, with the least outcome it demands.

Owns the value and its order. Findings are joined in `verdict`.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from avow.core.words import Outcome


class Source(IntEnum):
    """Which kind of check spoke; where floors are equal, the smaller is named first."""

    JUDGE = 0
    RULE = 1
    MATRIX = 2
    SCORE = 3
    EXTENSION = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """One result: who says it, what is the least outcome, why, and what would be accepted.

    `step` asks for one outcome stricter than the join of all floors.
    """

    id: str
    slug: str
    source: Source
    floor: Outcome
    says: str
    hint: str = ""
    step: bool = False
    effect: int = 0
    # The place among others: severe first, then by who speaks. It tells any two findings apart, and
    # is kept because most findings are made once, when a policy is read, and sorted many times.
    order: tuple[object, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        severity = (-self.floor, not self.step)
        speaker = (self.source, self.id, self.effect, self.slug, self.says, self.hint)
        object.__setattr__(self, "order", severity + speaker)

    @property
    def name(self) -> str:
        """Return the form of the IRL wire, as in `POL-003: no-destructive-production`."""
        return f"{self.id}: {self.slug}"

    @property
    def demands_human(self) -> bool:
        """Return whether this finding can put a question to a human, and so must be shown."""
        return self.step or self.floor >= Outcome.GATE
