"""Risk: points for one case, their sum, and the level it falls into.

Owns the order and the wording of the points; the figures are the policy's. Every point is named,
so that the sum can be followed by hand. Nothing here decides: a policy's bands map the level.

Clauses: IRL-2.11, IRL-2.12, IRL-5.01 to IRL-5.14.
"""

from dataclasses import dataclass

from avow.core.case import Case
from avow.core.policy import Bands, Point, Weights
from avow.core.words import DataLoss, Environment, Level, Means, Truth

SCORE_MAX = 100


@dataclass(frozen=True, slots=True)
class Risk:
    """A score from 0 to 100 with everything that went into it."""

    score: int
    level: Level
    points: tuple[Point, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the names of the rules that added points, in rule order."""
        return tuple(point.name for point in self.points if point.is_reason)


def score(case: Case, *, weights: Weights, bands: Bands) -> Risk:
    """Return the risk of one case.

    1. The base of the means.
    2. Each aggravation that holds adds its points, in a fixed order.
    3. Diligence counts only where the dialect asks for it and nothing was observed.
    4. The trust discount is subtracted after all additions and never goes below zero.
    5. The sum is clamped to 100 after the discount.
    """
    means = case.means
    # 1
    points = [weights.means[means]]
    add = points.append
    # 2, 3
    if case.environment is Environment.PRODUCTION:
        add(weights.production)
    if case.reversible is not Truth.YES:
        add(weights.irreversible)
    if case.diligence and not case.verified:
        add(weights.unverified)
    if case.diligence and not case.alternatives:
        add(weights.no_alternatives)
    if case.affects_backups:
        add(weights.affects_backups)
    if case.diligence and means is Means.DELETE and not case.rollback_plan:
        add(weights.delete_without_rollback)
    if case.data_loss is DataLoss.TOTAL and weights.total_data_loss.points:
        add(weights.total_data_loss)
    total = sum([point.points for point in points])
    # 4
    discount = min(weights.discounts[case.trust], total)
    if discount:
        add(Point(f"{case.trust.word} trust", -discount, is_reason=False))
    # 5
    clamped = min(total - discount, SCORE_MAX)
    return Risk(clamped, bands.level(clamped), tuple(points))
