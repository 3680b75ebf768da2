"""A verdict in IRL's own words, as its door answers; extension fields start with `x_`.

Clauses: IRL-2.17, IRL-2.18, IRL-5.14, IRL-5.16, IRL-5.18.
"""

from typing import Any

from avow.core.finding import Finding
from avow.core.verdict import Verdict

COMPUTED_BY = "irl-v0.1"


def answer(verdict: Verdict, *, verdict_id: str, timestamp: str) -> dict[str, Any]:
    """Return the answer to a record; `journal` is null where nothing was recorded."""
    risk, policy = verdict.risk, verdict.policy
    return {
        "verdict_id": verdict_id,
        "decision": verdict.outcome.name,
        "risk": {
            "score": risk.score,
            "level": risk.level.word,
            "reasons": list(risk.reasons),
            "computed_by": COMPUTED_BY,
        },
        "policy_triggered": verdict.decided_by.name,
        "reason": verdict.decided_by.says,
        "timestamp": timestamp,
        "requires_human": verdict.requires_human,
        "findings": [finding(entry) for entry in verdict.findings],
        "journal": None,
        "x_points": [{"name": point.name, "points": point.points} for point in risk.points],
        "x_hint": verdict.decided_by.hint,
        "x_hazard": verdict.hazard,
        "x_trust": verdict.cases[0].trust.word if verdict.cases else None,
        "x_digest": verdict.digest,
        "x_policy": {
            "name": policy.name,
            "version": policy.version,
            "digest": policy.digest,
            "relaxes": list(policy.relaxes),
        },
        "x_assumptions": [{"path": a.path, "text": a.text} for a in verdict.assumptions],
        "x_ignored": list(verdict.ignored),
    }


def finding(entry: Finding) -> dict[str, Any]:
    """Return one finding as data."""
    return {
        "id": entry.id,
        "slug": entry.slug,
        "floor": entry.floor.name,
        "step": entry.step,
        "says": entry.says,
        "hint": entry.hint,
    }
