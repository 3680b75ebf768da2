"""Cedar through cedarpy: the policy set and the (empty) entity set are parsed once.

Like for like: the twenty rules as Cedar policies, all of them evaluated, and all the forbids
that hold listed by their `@id`; this is the one peer engine that lists them all.

Not like for like, in Cedar's favour: no Cedar schema is given, so nothing validates the
record, while avow's time includes strict admission, schema validation, the digest, the score
and the reasons. The record's own text is handed over as the request context, which spares
cedarpy the `json.dumps` it would run on a dict; `json.loads` runs all the same, because the
principal, the action and the resource have to be read from the record.

Not like for like, against it: cedarpy passes its answer from Rust to Python as JSON text.

Trap: a Cedar policy that errs (a missing attribute, a wrong type) is skipped, a forbid too,
so Cedar itself allows a write to production whose record lacks `rationale.verified`, and says
so only in the diagnostics. This module takes any error for a deny, as a careful caller would.
Trap: Cedar has no null and no fraction; a record with either is no valid context, and cedarpy
answers `NoDecision`, which `allowed` takes for a deny.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

from cedarpy import Entities, PolicySet, is_authorized

from bench.peers.decision import Decision
from bench.peers.rules import RULES, Condition, Rule

NAME: Final = "cedarpy"
VERSION: Final = version("cedarpy")
LISTS_ALL: Final = True


def _condition(condition: Condition) -> str:
    field = f"context.{condition.path}"
    if isinstance(condition.value, bool):
        # The bare attribute, not `== false`: on anything but a boolean it errs, and an error
        # is a deny here, where a comparison would quietly be false.
        return field if condition.value else f"!{field}"
    if isinstance(condition.value, tuple):
        return f"{json.dumps(condition.value)}.contains({field})"
    operator = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<"}[condition.op]
    return f"{field} {operator} {json.dumps(condition.value)}"


def _policy(rule: Rule) -> str:
    when = " && ".join(map(_condition, rule.when))
    return f'@id("{rule.id}")\n{rule.effect}(principal, action, resource) when {{ {when} }};'


def build() -> Callable[[bytes], Decision]:
    """Parse the policies once and return the judge."""
    policies = PolicySet.from_str("\n".join(map(_policy, RULES)))
    entities = Entities.from_json_str("[]")

    def judge(raw: bytes) -> Decision:
        record = json.loads(raw)
        operation = record["operation"]
        # The dict form of an entity: a quote in an id cannot end a Cedar string early.
        result = is_authorized(
            {
                "principal": {"type": "Agent", "id": record["agent"]["id"]},
                "action": {"type": "Action", "id": operation["type"]},
                "resource": {"type": "Resource", "id": operation["target_resource"]},
                "context": raw.decode(),
            },
            policies,
            entities,
        )
        diagnostics = result.diagnostics
        if result.allowed:
            # The reasons of an allow are the permits, which are not what `fired` lists.
            return Decision(not diagnostics.errors, ())
        fired = tuple(diagnostics.id_annotations_by_reason.values())
        return Decision(allowed=False, fired=fired)

    return judge
