"""What a person is shown of a verdict, in the order it is read; every channel draws the same card.

Owns the content and the words, not the drawing. Text by an agent is boxed as untrusted and comes
with everything invisible written out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from avow.core.finding import Finding, Source
from avow.core.intent import Intent
from avow.core.untrusted import show
from avow.core.verdict import Verdict
from avow.core.words import DataLoss, Outcome, Truth

ICONS = {Outcome.ALLOW: "✓", Outcome.LOG_ALLOW: "✎", Outcome.GATE: "?", Outcome.DENY: "✗"}
MEANINGS = {
    Outcome.ALLOW: "may go ahead",
    Outcome.LOG_ALLOW: "may go ahead, kept under watch",
    Outcome.GATE: "waits for a human",
    Outcome.DENY: "must not run",
}
_WAY_BACK = {
    Truth.YES: "reversible",
    Truth.NO: "irreversible",
    Truth.UNKNOWN: "reversibility unknown",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One finding as it is shown."""

    outcome: str
    name: str
    says: str
    decided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything a person needs to understand one verdict."""

    outcome: Outcome
    meaning: str
    level: str
    score: int
    verb: str
    target: str
    circumstances: str
    agent: str
    trust: str
    boxed: tuple[tuple[str, str], ...]
    points: tuple[tuple[str, int], ...]
    total: int
    lines: tuple[Line, ...]
    hint: str
    assumptions: tuple[tuple[str, str], ...]
    policy: str
    relaxes: tuple[str, ...]
    digest: str


def card(intent: Intent, verdict: Verdict) -> Card:
    """Return the card of a verdict."""
    effect, declaration = intent.declaration.effects[0], intent.declaration
    policy = verdict.policy
    points = sorted(verdict.risk.points, key=lambda point: -point.points)
    return Card(
        outcome=verdict.outcome,
        meaning=MEANINGS[verdict.outcome],
        level=verdict.level.word,
        score=verdict.score,
        verb=effect.means.upper(),
        target=_quoted(str(effect.resource)),
        circumstances=_circumstances(verdict),
        agent=_quoted(declaration.agent),
        trust=_trust(intent, verdict),
        boxed=tuple(_boxed(intent)),
        points=tuple((point.name, point.points) for point in points if point.points),
        total=sum(point.points for point in points),
        lines=tuple(
            _line(finding, verdict)
            for finding in verdict.findings
            if finding.floor > Outcome.ALLOW or finding.step or finding == verdict.decided_by
        ),
        hint=verdict.decided_by.hint,
        assumptions=tuple((entry.path, entry.text) for entry in verdict.assumptions),
        policy=f"{policy.name} {policy.version}, {policy.digest[:12]}",
        relaxes=policy.relaxes,
        digest=verdict.digest,
    )


def _quoted(text: str) -> str:
    """Return a name between backticks that it cannot close by itself."""
    inner = show(text).replace("`", "\\u{60}")
    return f"`{inner}`"


def _boxed(intent: Intent) -> Iterator[tuple[str, str]]:
    """Yield texts by the agent, each with the words that say so."""
    declaration = intent.declaration
    runnable = declaration.runnable
    if declaration.goal:
        yield "the agent says (unverified)", str(declaration.goal)
    for name, text in (("command", runnable.command), ("SQL", runnable.sql)):
        if text is not None:
            yield f"{name} that would run ({intent.inspection})", show(text)
    if runnable.tool_call is not None:
        call = json.dumps(runnable.tool_call)
        yield f"tool call that would be made ({intent.inspection})", show(call)


def _line(finding: Finding, verdict: Verdict) -> Line:
    # The card lists the points already, so the score need not repeat its reasons.
    says = finding.says
    if finding.source is Source.SCORE:
        says = f"{verdict.level.word} risk {verdict.score}"
    outcome = "one step stricter" if finding.step else finding.floor.name
    return Line(outcome, finding.name, says, decided=finding == verdict.decided_by)


def _trust(intent: Intent, verdict: Verdict) -> str:
    declared = intent.declaration.claims.trust
    if not verdict.cases:
        return f"declares trust {declared.word}"
    counted = verdict.cases[0].trust
    told = f"trust {counted.word}"
    return told if counted is declared else f"{told}, declared {declared.word}"


def _circumstances(verdict: Verdict) -> str:
    if not verdict.cases:
        return "could not be settled"
    case = verdict.cases[0]
    parts = [case.environment.value, _WAY_BACK[case.reversible], f"hazard {verdict.hazard}"]
    if case.data_loss in (DataLoss.PARTIAL, DataLoss.TOTAL):
        parts.append(f"{case.data_loss} data loss")
    if case.affects_backups:
        parts.append("backups hit")
    return " · ".join(parts)
