"""The verdict: the join of all findings, and the permits that may relieve it.

Owns the two pure functions that turn findings into an outcome. Adding a finding never softens,
order and repetition do not matter, no finding at all is DENY, and no permit touches a DENY.

Clauses: IRL-2.09, IRL-2.18, IRL-3.04, IRL-3.05.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from avow.core.case import Case
from avow.core.declaration import Assumption
from avow.core.finding import Finding, Source
from avow.core.policy import Policy
from avow.core.risk import Risk
from avow.core.words import Level, Outcome

NOTHING_CHECKED = Finding(
    "POL-900",
    "nothing-checked",
    Source.JUDGE,
    Outcome.DENY,
    "no check looked at this intent",
    "report this: a policy without any check judges nothing",
)


class Ruling(NamedTuple):
    """What a set of findings comes to: the outcome, all of them in order, and who decided."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    decided_by: Finding
    stepped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the machine concluded, with everything that led to it.

    `allowed` is the question to ask; a verdict has no truth value of its own, because
    `if verdict:` would let a denial through.
    """

    outcome: Outcome
    risk: Risk
    findings: tuple[Finding, ...]
    decided_by: Finding
    stepped: bool
    hazard: int
    cases: tuple[Case, ...]
    digest: str
    policy: Policy
    assumptions: tuple[Assumption, ...]
    ignored: tuple[str, ...]

    def __bool__(self) -> bool:
        raise TypeError("a verdict is neither true nor false: ask `verdict.allowed`")

    @property
    def allowed(self) -> bool:
        """Return whether the action may go ahead now."""
        return self.outcome <= Outcome.LOG_ALLOW

    @property
    def requires_human(self) -> bool:
        """Return whether a human is asked."""
        return self.outcome is Outcome.GATE

    @property
    def score(self) -> int:
        """Return the risk score from 0 to 100."""
        return self.risk.score

    @property
    def level(self) -> Level:
        """Return the level the score falls into."""
        return self.risk.level

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons behind the score, in rule order."""
        return self.risk.reasons


def rule(findings: Iterable[Finding]) -> Ruling:
    """Join findings.

    1. No finding at all means DENY.
    2. The outcome is the strictest floor.
    3. If any finding asks for a step, the outcome is one stricter; several count once.
    4. Who decided: the first to ask for the step that changed something, else the first of the
       strictest floor, in an order that does not depend on the order of arrival.
    """
    # 1
    ordered = _distinct(sorted(findings, key=_ORDER)) or (NOTHING_CHECKED,)
    # 2
    first = ordered[0]
    # 3
    for finding in ordered:
        if finding.step and first.floor is not Outcome.DENY:
            # 4
            return Ruling(first.floor.stricter(), ordered, finding, stepped=True)
    return Ruling(first.floor, ordered, first, stepped=False)


_ORDER = attrgetter("order")


def _distinct(ordered: list[Finding]) -> tuple[Finding, ...]:
    """Return sorted findings without repetitions, which stand side by side."""
    return tuple(
        finding
        for index, finding in enumerate(ordered)
        if index == 0 or finding.order != ordered[index - 1].order
    )
