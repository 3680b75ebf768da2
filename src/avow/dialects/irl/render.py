"""A verdict in IRL's own words, as its door answers; extension fields start with `x_`.

Clauses: IRL-2.17, IRL-2.18, IRL-5.14, IRL-5.16, IRL-5.18.
"""

import json
from typing import Any

COMPUTED_BY = "irl-v0.1"


def answer(
    said: dict[str, Any],
    *,
    verdict_id: str,
    timestamp: str,
    digest: str,
    journal: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the answer to a record; `journal` is null where nothing was recorded.

    `said` is what the verdict says, in the form of `avow.core.conclusion`.
    """
    own = {
        "verdict_id": verdict_id,
        "timestamp": timestamp,
        "x_digest": digest,
        "journal": journal,
    }
    return own | shared(said)


def shared(said: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an answer that verdicts which say the same have in common."""
    decided_by = said["decided_by"]
    return {
        "decision": said["outcome"],
        "risk": {
            "score": said["score"],
            "level": said["level"],
            "reasons": said["reasons"],
            "computed_by": COMPUTED_BY,
        },
        "policy_triggered": f"{decided_by['id']}: {decided_by['slug']}",
        "reason": decided_by["says"],
        "requires_human": said["requires_human"],
        "findings": said["findings"],
        "x_points": said["points"],
        "x_hint": decided_by["hint"],
        "x_hazard": said["hazard"],
        "x_trust": said["trust"],
        "x_policy": said["policy"],
        "x_assumptions": said["assumptions"],
        "x_ignored": said["ignored"],
    }


def shared_text(said: dict[str, Any]) -> str:
    """Return the shared part as JSON, without the brace that opens it."""
    return json.dumps(shared(said), separators=(",", ":"))[1:]


def answer_text(  # noqa: PLR0913 - all by name: what differs between two answers
    shared_part: str, *, verdict_id: str, timestamp: str, digest: str, position: int, hashed: str
) -> bytes:
    """Return a recorded answer as JSON, around a shared part that was written before.

    Our own ids, times and hashes need no escaping; a law holds this to `answer`.
    """
    return (
        f'{{"verdict_id":"{verdict_id}","timestamp":"{timestamp}","x_digest":"{digest}",'
        f'"journal":{{"position":{position},"hash":"sha256:{hashed}"}},{shared_part}'
    ).encode("ascii")
