"""The floor: the twenty rules as Python lambdas, run in the judge's own process.

Like for like: the same twenty conditions over the same parsed record, all of them tried, all
that fire listed. Not like for like: there is no policy language, no isolation and no schema,
so the rules are code that could do anything, and a record without a field raises KeyError.
No engine that reads its rules as data can be faster than this in pure Python.
"""

import json
from collections.abc import Callable
from platform import python_version
from typing import Any, Final

from bench.peers.decision import Decision
from bench.peers.rules import RULES, Condition, Rule

NAME: Final = "plain"
VERSION: Final = f"CPython {python_version()}"
LISTS_ALL: Final = True

Check = Callable[[dict[str, Any]], bool]


def _condition(condition: Condition) -> str:
    section, field = condition.path.split(".")
    operator = {"eq": "==", "ne": "!=", "in": "in", "gt": ">", "lt": "<", "is": "is"}
    return f"r[{section!r}][{field!r}] {operator[condition.op]} {condition.value!r}"


def _lambda(rule: Rule) -> Check:
    source = "lambda r: " + " and ".join(map(_condition, rule.when))
    check: Check = eval(source)  # noqa: S307  the table's own text: a closure would be no floor
    return check


def build() -> Callable[[bytes], Decision]:
    """Compile the lambdas once and return the judge."""
    permits = tuple(_lambda(rule) for rule in RULES if rule.effect == "permit")
    forbids = tuple((rule.id, _lambda(rule)) for rule in RULES if rule.effect == "forbid")

    def judge(raw: bytes) -> Decision:
        record = json.loads(raw)
        fired = tuple(name for name, holds in forbids if holds(record))
        return Decision(not fired and any(holds(record) for holds in permits), fired)

    return judge
