"""Random records for differential comparison: seeded, fast, and rich in odd corners."""

import random
from typing import Any, NamedTuple

from tests.records import ENVIRONMENTS, TRUSTS, TYPES

TARGETS = (
    "table:orders",
    "table:orders",
    "volume:prod-db-main",
    "db:*",
    "volume:",
    "/",
    ":",
    "https://host/x",
    "https://host",
    "https://*/x",
    "file:/a/../..",
    "file:/a/*/..",
    "plain",
)
GOALS = (
    "",
    "tidy up",
    "fix staging",
    "copy PROD_db to local",
    "Production!",
    "products",
    "\u017ftaging",
    "pre-prod",
    "loc\u00e4l",
)
FACTS = ("fact_1", "fact_2", "fact_9")
SNAPSHOTS = {"snap_1": "table:orders", "snap_2": "volume:prod-db-main"}
KNOWN_FACTS = frozenset({"fact_1", "fact_2"})


class Drawn(NamedTuple):
    """One record and what is known about the one who declares it."""

    record: dict[str, Any]
    registered: str | None
    signature: str


def draw(source: random.Random) -> Drawn:
    """Return one random valid record with what is known."""
    pick, chance = source.choice, source.random

    def maybe(group: dict[str, Any], name: str, value: Any, likely: float = 0.5) -> None:
        if chance() < likely:
            group[name] = value

    operation: dict[str, Any] = {
        "type": pick(TYPES),
        "target_resource": pick(TARGETS),
        "target_environment": pick(ENVIRONMENTS),
    }
    maybe(operation, "source_environment", pick(ENVIRONMENTS), 0.2)
    maybe(operation, "scope", pick(("temporary", "permanent", "unknown")))
    maybe(operation, "estimated_rows_affected", pick((-1, 0, 10**6)))
    maybe(operation, pick(("command", "sql")), pick(("", "ls -l")), 0.1)
    rationale: dict[str, Any] = {"verified": chance() < 0.7}
    maybe(rationale, "alternatives_considered", pick(([], [" "], ["a"], ["", "b"])), 0.8)
    maybe(rationale, "stated_goal", pick(GOALS))
    maybe(rationale, "assumed_safe", chance() < 0.5)
    maybe(rationale, "evidence", source.sample(FACTS, source.randrange(3)))
    consequences: dict[str, Any] = {
        "reversible": chance() < 0.7,
        "rollback_plan": chance() < 0.7,
    }
    maybe(consequences, "data_loss_risk", pick(("none", "none", "partial", "total")), 0.7)
    maybe(consequences, "affects_backups", chance() < 0.3, 0.7)
    maybe(consequences, "snapshot_id", pick(("snap_1", "snap_2", "snap_9")), 0.7)
    maybe(consequences, "downstream_services", ["billing"], 0.2)
    record = {
        "irl_version": "0.1",
        "agent": {"id": "agent-1", "trust_level": pick(TRUSTS)},
        "operation": operation,
        "rationale": rationale,
        "consequences": consequences,
    }
    if chance() < 0.1:
        record["risk"] = {"score": 0, "level": "low"}
    return Drawn(record, pick((None, *TRUSTS)), pick(("absent", "absent", "valid", "invalid")))
