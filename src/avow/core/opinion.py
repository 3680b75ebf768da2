"""A policy's opinion of one case: its risk, and a finding for every check of the policy.

Owns the three checks that a policy describes (score, matrix, rules) and the memory that makes a
repeated case cheap. An opinion depends on the policy and the case alone, so remembering it changes
nothing but the time; a check that fails is never remembered.

Clauses: IRL-2.20, IRL-3.01 to IRL-3.06.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from avow.core import risk
from avow.core.case import CLOSED_FIELDS, Case
from avow.core.finding import Finding, Source
from avow.core.policy import Policy, Rule
from avow.core.resource import Resource
from avow.core.verdict import Ruling, rule

# How many different cases are remembered. All cases of the six means of an intent record without
# extension fields number some tens of thousands; the ones that really occur are far fewer.
REMEMBERED_MAX = 4096


class Opinion(NamedTuple):
    """What the policy makes of one case; `ruling` is the join if nobody else has a say."""

    risk: risk.Risk
    ruling: Ruling


def of(case: Case, policy: Policy) -> Opinion:
    """Return the policy's opinion of a case."""
    if policy.asks_open_fields:
        return _formed(case, policy)
    return _remembered(policy, case[:CLOSED_FIELDS])


def forget() -> None:
    """Forget all opinions, so that a benchmark can tell what forming them costs."""
    _remembered.cache_clear()


@lru_cache(maxsize=REMEMBERED_MAX)
def _remembered(policy: Policy, closed: tuple[object, ...]) -> Opinion:
    # No rule of this policy looks at the open fields, so any value stands for all.
    return _formed(Case._make((*closed, _ANYTHING, 0, "", "")), policy)


_ANYTHING = Resource("", "", ())


def _formed(case: Case, policy: Policy) -> Opinion:
    scored = risk.score(case, weights=policy.weights, bands=policy.bands)
    findings = (_by_score(scored, policy), *_by_matrix(case, policy), *_by_rules(case, policy))
    return Opinion(scored, rule(findings))


def _by_score(scored: risk.Risk, policy: Policy) -> Finding:
    """Hold the score against the bands.

    1. Every case gets this finding, so that an intent with effects is never unjudged.
    2. The floor is the outcome of the band the score falls into.
    """
    band = policy.bands.band(scored.level)
    listed = f": {', '.join(scored.reasons)}" if scored.reasons else ""
    says = f"{scored.level.word} risk {scored.score}{listed}"
    return Finding(band.id, band.slug, Source.SCORE, band.outcome, says, band.hint)


def _by_matrix(case: Case, policy: Policy) -> Iterator[Finding]:
    """Hold the case against the matrix.

    1. Where the policy has a matrix, means and environment set the least outcome.
    """
    if policy.matrix is not None:
        yield policy.matrix.findings[case.means, case.environment]


def _by_rules(case: Case, policy: Policy) -> Iterator[Finding]:
    """Hold the case against every rule.

    1. A rule whose condition holds sets its floor or asks for a step.
    2. Its sentence names which of its circumstances applied.
    """
    for entry in policy.rules:
        if entry.when.holds(case):
            yield _worded(entry, case)


def _worded(entry: Rule, case: Case) -> Finding:
    phrases = [phrase for when, phrase in entry.because if when.holds(case)]
    if not phrases:
        return entry.finding
    return replace(entry.finding, says=" + ".join([entry.says, *phrases]))
