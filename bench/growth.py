"""How the time of one judgement grows with the number of rules and the size of the record."""

import json
import statistics
import tomllib
from collections.abc import Callable
from typing import Any

import avow
from avow import data
from avow.core import policy_reading
from avow.core.policy import Policy

RULES = (11, 50, 100, 200, 400)
BYTES = (0, 1_000, 4_000, 8_000)


def over_rules(body: bytes, measure: Callable[..., Any]) -> dict[str, float]:
    """Return the time by number of rules; each looks at the resource, so nothing is remembered."""
    figures = {}
    for count in RULES:
        grown = _with_rules(count)
        taken = measure({"avow": lambda grown=grown: avow.evaluate(body, policy=grown)}, rounds=7)
        figures[str(len(grown.rules))] = round(statistics.median(taken["avow"]), 1)
    return figures


def over_bytes(policy: Policy, body: bytes, measure: Callable[..., Any]) -> dict[str, float]:
    """Return the time by size of the record, which grows by its stated goal."""
    figures = {}
    for more in BYTES:
        record = json.loads(body)
        record["rationale"]["stated_goal"] += "x" * more
        grown = json.dumps(record).encode()
        taken = measure({"avow": lambda grown=grown: avow.evaluate(grown, policy=policy)}, rounds=7)
        figures[str(len(grown))] = round(statistics.median(taken["avow"]), 1)
    return figures


def _with_rules(count: int) -> Policy:
    source = tomllib.loads(data.read("policies", "default.toml").decode())
    for number in range(count - len(source["rules"])):
        source["rules"].append(
            {
                "id": f"POL-{1000 + number}",
                "slug": "own",
                "outcome": "GATE",
                "says": "own",
                "when": {
                    "all": [
                        {"field": "resource", "under": f"table:t{number}"},
                        {"field": "environment", "is": "production"},
                    ]
                },
            }
        )
    return policy_reading.read(source)
