"""Permits: what an answered gate, an approved plan or a standing approval grants.

Owns `relieve`, the only way a verdict gets milder: GATE may become LOG_ALLOW, for one permit that
names what was shown. It never touches a DENY, never trusts a permit whose findings were not all
shown, and does not spend the permit: the transaction that acts does, by compare-and-set.

Clauses: IRL-3.04.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from avow.core.finding import Finding
from avow.core.resource import Resource
from avow.core.verdict import Verdict
from avow.core.words import Environment, Means, Outcome


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a standing approval covers: one agent's means below one resource in one environment."""

    agent: str
    means: Means
    under: Resource
    environment: Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """A grant, bound to the exact digest that was shown or to a pattern.

    `shown` holds the keys of the findings the human saw; `hazard_max` caps what it covers.
    """

    id: str
    covers: str | Pattern
    shown: frozenset[str]
    uses_left: int
    expires_ms: int
    hazard_max: int


@dataclass(frozen=True, slots=True)
class Relief:
    """The verdict after permits were looked at, and the permit that relieved it, if any."""

    verdict: Verdict
    permit: Permit | None


def key(finding: Finding) -> str:
    """Return what names a finding on a permit: who spoke, its id and how much it demanded."""
    step = "+step" if finding.step else ""
    return f"{finding.source.name.lower()}:{finding.id}:{finding.floor.name}{step}"


def relieve(verdict: Verdict, permits: Iterable[Permit], *, now_ms: int) -> Relief:
    """Return the verdict, relieved to LOG_ALLOW if one permit covers it entirely.

    1. Only a GATE can be relieved.
    2. The permit has a use left and has not expired.
    3. Its hazard ceiling is not exceeded.
    4. It covers this very digest, or every effect falls under its pattern.
    5. Every finding that demanded a human was shown when it was granted.
    """
    # 1
    if verdict.outcome is not Outcome.GATE:
        return Relief(verdict, None)
    demanded = {key(finding) for finding in verdict.findings if finding.demands_human}
    for permit in sorted(permits, key=lambda permit: permit.id):
        in_force = permit.uses_left > 0 and now_ms < permit.expires_ms  # 2
        low_enough = verdict.hazard <= permit.hazard_max  # 3
        if (
            in_force
            and low_enough
            and _covers(permit.covers, verdict)  # 4
            and demanded <= permit.shown  # 5
        ):
            return Relief(replace(verdict, outcome=Outcome.LOG_ALLOW), permit)
    return Relief(verdict, None)


def _covers(covered: str | Pattern, verdict: Verdict) -> bool:
    if isinstance(covered, str):
        return covered == verdict.digest
    return bool(verdict.cases) and all(
        case.agent == covered.agent
        and case.means is covered.means
        and case.environment is covered.environment
        and covered.under.contains(case.resource)
        for case in verdict.cases
    )
