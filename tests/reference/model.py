"""A naive second judge of IRL records, written from the specifications and never from `avow`.

It shares nothing with the product: every figure is written out again by hand, so that differential
tests can hold the two against each other.
"""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

OUTCOMES = ["ALLOW", "LOG_ALLOW", "GATE", "DENY"]
LEVELS = ["low", "medium", "high", "critical"]
TRUST = ["low", "medium", "high", "verified"]
POINTS = {"read": 0, "write": 20, "network": 25, "execute": 30, "auth": 35, "delete": 50}
HAZARD = {"read": 0, "write": 2, "network": 2, "execute": 3, "auth": 3, "delete": 3}
DISCOUNT = {"low": 0, "medium": 0, "high": 10, "verified": 20}
WORDS = {"local": "local", "staging": "staging", "production": "production", "prod": "production"}


class Judged(NamedTuple):
    outcome: str
    score: int
    level: str
    reasons: list[str]
    hazard: int
    rules: set[str]


def hazard_of(case: dict[str, Any]) -> int:
    if case["type"] == "read":
        return 0
    if case.get("affects_backups") or (case["type"] == "delete" and not case["reversible"]):
        return 4
    if case["target_environment"] == "production" and not case["reversible"]:
        return 3
    return HAZARD[case["type"]]


def points_of(case: dict[str, Any], default: bool) -> list[tuple[int, str]]:
    points = []
    if case["target_environment"] == "production":
        points.append((30, "production environment"))
    if not case["reversible"]:
        points.append((25, "irreversible operation"))
    if not case["verified"]:
        points.append((20, "assumption not verified"))
    if not any(text.strip() for text in case.get("alternatives_considered") or []):
        points.append((15, "no alternatives considered"))
    if case.get("affects_backups"):
        points.append((30, "affects backup systems"))
    if case["type"] == "delete" and not case["rollback_plan"]:
        points.append((20, "delete without rollback plan"))
    if case.get("data_loss_risk") == "total" and default:
        points.append((25, "total data loss risk"))
    return points


def is_broad(target: str) -> bool:
    scheme, colon, rest = target.partition(":")
    if not colon or not scheme or "/" in scheme:
        rest = target.lstrip(":")
    segments: list[str] = []
    if rest.startswith("//"):
        authority, _, rest = rest[2:].partition("/")
        segments = [authority] * 9 if authority else []  # named, however often `..` climbs
    for part in rest.split("/"):
        if part == "..":
            segments = segments[:-1]
        elif part not in ("", "."):
            segments.append(part)
    return not segments or any("*" in segment for segment in segments)


def floors_of(case: dict[str, Any], hazard: int) -> dict[str, str]:
    means, here = case["type"], case["target_environment"]
    floors = {"POL-010": "GATE" if here == "production" or means == "delete" else "LOG_ALLOW"}
    if means == "read":
        floors["POL-010"] = "LOG_ALLOW" if here == "production" else "ALLOW"
    if case.get("data_loss_risk") in ("partial", "total"):
        floors["POL-011"] = "GATE"
    if here == "production" and not case["reversible"]:
        floors["POL-013"] = "GATE"
        if case["trust_level"] in ("low", "medium"):
            floors["POL-012"] = "DENY"
    if hazard == 4:
        floors["POL-014"] = "GATE"
    if any(case.get(field) is not None for field in ("command", "sql", "tool_call")):
        floors["POL-015"] = "GATE"
    if is_broad(case["target_resource"]) and means != "read":
        floors["POL-016"] = "GATE"
    others, goal = [word for word in WORDS if WORDS[word] != here], case.get("stated_goal") or ""
    if any(re.search(rf"(?i)(?<![a-z0-9]){word}(?![a-z0-9])", goal, re.ASCII) for word in others):
        floors["POL-018"] = "GATE"
    if (case.get("source_environment") or here) != here:
        floors["POL-019"] = "ALLOW"  # no floor of its own: it asks for the step
    return floors


def judge(record: dict[str, Any], *, policy: str, registered: str | None = None,
          signature: str = "absent", snapshots: Mapping[str, str] = MappingProxyType({}),
          facts: Collection[str] = ()) -> Judged:  # fmt: skip
    default = {"default": True, "irl-0.1": False}[policy]
    case = record["agent"] | record["operation"] | record["rationale"] | record["consequences"]
    hazard = hazard_of(case)
    if default:  # what the agent says in its own favour counts only as far as it is backed
        case["trust_level"] = min(case["trust_level"], registered or "low", key=TRUST.index)
        if case["trust_level"] == "verified" and signature != "valid":
            case["trust_level"] = "high"
        evidence = case.get("evidence")
        if hazard >= 3 and not (evidence and all(fact in facts for fact in evidence)):
            case["verified"] = False
        if hazard >= 3 and case.get("affects_backups") is None:
            case["affects_backups"] = True
        if (case.get("snapshot_id"), case["target_resource"]) not in snapshots.items():
            case["rollback_plan"] = False  # only ever looked at for a delete
    points = points_of(case, default)
    total = POINTS[case["type"]] + sum(number for number, _ in points)
    score = min(100, max(0, total - DISCOUNT[case["trust_level"]]))
    band = [score >= 25, score >= 50, score >= 75].count(True)
    band_ids = ["POL-000", "POL-001", "POL-002", "POL-005" if default else "POL-003"]
    floors = {band_ids[band]: OUTCOMES[band]} | (floors_of(case, hazard) if default else {})
    mitigated = case["reversible"] and case["rollback_plan"] and not case.get("affects_backups")
    if case["type"] == "delete" and case["target_environment"] == "production" and not mitigated:
        floors["POL-003"] = "DENY"
    if signature == "invalid":
        floors["POL-020"] = "DENY"
    step = 1 if "POL-019" in floors else 0
    worst = min(3, max(OUTCOMES.index(floor) for floor in floors.values()) + step)
    outcome, reasons = OUTCOMES[worst], [reason for _, reason in points]
    return Judged(outcome, score, LEVELS[band], reasons, hazard, set(floors))
