"""Records for tests: a harmless one that each test changes where it matters."""

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

from avow.core.words import Trust

NEUTRAL: dict[str, Any] = {
    "irl_version": "0.1",
    "agent": {"id": "agent-1", "trust_level": "medium"},
    "operation": {
        "type": "read",
        "target_resource": "table:orders",
        "target_environment": "staging",
    },
    "rationale": {"verified": True, "alternatives_considered": ["another way"]},
    "consequences": {
        "reversible": True,
        "rollback_plan": True,
        "data_loss_risk": "none",
        "affects_backups": False,
    },
}
# Where each field of a record lives, so that a test can name it alone.
HOME = {
    "id": "agent",
    "trust_level": "agent",
    "model": "agent",
    "session_id": "agent",
    "type": "operation",
    "target_resource": "operation",
    "target_environment": "operation",
    "scope": "operation",
    "estimated_rows_affected": "operation",
    "source_environment": "operation",
    "command": "operation",
    "sql": "operation",
    "tool_call": "operation",
    "stated_goal": "rationale",
    "assumed_safe": "rationale",
    "verified": "rationale",
    "alternatives_considered": "rationale",
    "evidence": "rationale",
    "reversible": "consequences",
    "rollback_plan": "consequences",
    "data_loss_risk": "consequences",
    "affects_backups": "consequences",
    "downstream_services": "consequences",
    "snapshot_id": "consequences",
}
ABSENT = object()
TYPES = ("read", "write", "delete", "execute", "network", "auth")
ENVIRONMENTS = ("local", "staging", "production")
TRUSTS = tuple(trust.word for trust in Trust)


def record(**fields: Any) -> dict[str, Any]:
    """Return the neutral record with some fields changed, `ABSENT` ones taken out."""
    made = copy.deepcopy(NEUTRAL)
    for name, value in fields.items():
        group = made[HOME[name]]
        if value is ABSENT:
            group.pop(name, None)
        else:
            group[name] = value
    return made


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def lattice() -> Iterator[dict[str, Any]]:
    """Yield the 6,912 combinations of nine inputs, as the fields of a record."""
    flags = (True, False)
    axes = (TYPES, ENVIRONMENTS, flags, flags, flags, flags, flags, TRUSTS)
    for kind, place, way_back, checked, others, backups, plan, trust in itertools.product(*axes):
        for loss in ("none", "partial", "total"):
            yield {
                "type": kind,
                "target_environment": place,
                "reversible": way_back,
                "verified": checked,
                "alternatives_considered": ["another way"] if others else [],
                "affects_backups": backups,
                "rollback_plan": plan,
                "trust_level": trust,
                "data_loss_risk": loss,
            }
