"""What a verdict says, as plain data: written once, kept, and rendered by every dialect.

Owns the names of the kept form. It leaves out what differs between two verdicts that say the same
(their ids, times and digests), so that they share one stored text.
"""

from typing import Any

from avow.core.finding import Finding
from avow.core.verdict import Verdict

DIGEST_DOMAIN = "avow-conclusion-1"


def plain(verdict: Verdict) -> dict[str, Any]:
    """Return what a verdict says, as JSON values."""
    risk, policy = verdict.risk, verdict.policy
    return {
        "outcome": verdict.outcome.name,
        "requires_human": verdict.requires_human,
        "score": risk.score,
        "level": risk.level.word,
        "reasons": list(risk.reasons),
        "points": [{"name": point.name, "points": point.points} for point in risk.points],
        "decided_by": finding(verdict.decided_by),
        "findings": [finding(entry) for entry in verdict.findings],
        "stepped": verdict.stepped,
        "hazard": verdict.hazard,
        "trust": verdict.cases[0].trust.word if verdict.cases else None,
        "policy": {
            "name": policy.name,
            "version": policy.version,
            "digest": policy.digest,
            "relaxes": list(policy.relaxes),
        },
        "assumptions": [{"path": a.path, "text": a.text} for a in verdict.assumptions],
        "ignored": list(verdict.ignored),
    }


def finding(entry: Finding) -> dict[str, Any]:
    """Return one finding as JSON values."""
    return {
        "id": entry.id,
        "slug": entry.slug,
        "floor": entry.floor.name,
        "step": entry.step,
        "says": entry.says,
        "hint": entry.hint,
    }
