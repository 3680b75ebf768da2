"""Judgement: the policy and every assessor look at every effect, and their findings are joined.

Owns the order of judging and the rule that a check which fails denies. An assessor is any callable
from a `Matter` to findings; by the join, adding one can only harden.

Clauses: IRL-3.05, IRL-5.01.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from avow.core import opinion
from avow.core.case import Case, cases
from avow.core.finding import Finding, Source
from avow.core.intent import Intent
from avow.core.risk import SCORE_MAX, Risk
from avow.core.situation import Situation
from avow.core.verdict import Verdict, rule
from avow.core.words import Level, Outcome


class Matter(NamedTuple):
    """What an assessor gets: the intent, the situation, and each effect settled into a case."""

    intent: Intent
    situation: Situation
    cases: tuple[Case, ...]


Assessor = Callable[[Matter], Iterable[Finding]]


def assess(
    intent: Intent, situation: Situation, *, assessors: tuple[Assessor, ...] = ()
) -> Verdict:
    """Return the verdict on an intent in a situation. Pure and total.

    1. Each effect is settled into a case; if that fails, the intent is denied unjudged.
    2. The policy forms an opinion of each; one that fails counts as a DENY.
    3. Open breakers and every further assessor speak; one that fails counts as a DENY that names
       it.
    4. Findings are joined; the worst effect lends its score and hazard to the whole.
    """
    # 1
    try:
        settled, assumed = cases(intent, situation)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a check must deny
        settled, assumed = (), ()
        unsettled = _failed("settling", error)
        assessors = (lambda _: [unsettled],)
    if situation.tripped:
        assessors = (*assessors, _breakers)
    # 2
    opinions = [_heard(case, situation) for case in settled]
    # 3, 4
    if len(opinions) == 1 and not assessors:
        ruling = opinions[0].ruling
    else:
        matter = Matter(intent, situation, settled)
        spoken = chain.from_iterable(_asked(assessor, matter) for assessor in assessors)
        ruling = rule(chain(_placed(opinions), spoken))
    declaration = intent.declaration
    return Verdict(
        outcome=ruling.outcome,
        risk=max([formed.risk for formed in opinions], key=_SCORE, default=_UNSCORED),
        findings=ruling.findings,
        decided_by=ruling.decided_by,
        stepped=ruling.stepped,
        hazard=max([case.hazard for case in settled], default=0),
        cases=settled,
        digest=intent.digest,
        policy=situation.policy,
        assumptions=declaration.assumptions + assumed,
        ignored=declaration.ignored,
    )


_SCORE = attrgetter("score")
_UNSCORED = Risk(SCORE_MAX, Level.CRITICAL, ())


def _breakers(matter: Matter) -> list[Finding]:
    """Deny each effect of a kind whose breaker is open."""
    return [
        replace(tripped.finding(), effect=index)
        for index, case in enumerate(matter.cases)
        for tripped in matter.situation.tripped
        if case.means is tripped.means
    ]


def _heard(case: Case, situation: Situation) -> opinion.Opinion:
    try:
        return opinion.of(case, situation.policy)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a check must deny
        return opinion.Opinion(_UNSCORED, rule([_failed("policy", error)]))


def _placed(opinions: list[opinion.Opinion]) -> Iterator[Finding]:
    """Give every finding the number of the effect it speaks of."""
    for index, formed in enumerate(opinions):
        for finding in formed.ruling.findings:
            yield replace(finding, effect=index)


def _asked(assessor: Assessor, matter: Matter) -> list[Finding]:
    try:
        return [_genuine(finding) for finding in assessor(matter)]
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in a check must deny
        return [_failed(getattr(assessor, "__name__", "an assessor"), error)]


def _genuine(finding: Finding) -> Finding:
    if not isinstance(finding, Finding):
        raise TypeError("an assessor returned something that is not a finding")
    return finding


def _failed(name: str, error: Exception) -> Finding:
    # The text of the error may hold what the agent sent, so only its kind is told.
    return Finding(
        "POL-901",
        "check-failed",
        Source.JUDGE,
        Outcome.DENY,
        f"`{name}` failed with {type(error).__name__}",
        "report this: a check that fails denies",
    )
