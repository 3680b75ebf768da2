"""AGT's `PolicyEngine`: the raw evaluator beneath `govern()`, rules as text expressions.

Like for like: the same twenty rules under `deny_overrides`, and all of them are tried on
every call. Not like for like, in AGT's favour: nothing validates the record, while
avow's time includes strict admission, schema validation, the digest, the score and the
reasons; and of all that matched the engine returns only the winner, so it names one rule.
Not like for like, against it: expressions are taken apart with regular expressions on every
call; the engine has no compiled form.

The expression language has no negation and no literal `true` or `false`, so "is false" is
written `field < 1`, which the engine answers by turning the value into a number.

Trap: an expression the engine cannot read is false without a word, so the rule never fires:
`field == false`, `not field`, `field == 3`, `field > -1`, and `true` itself. A docstring in
the toolkit's `govern` module suggests the first. Only a raised exception counts as a match.
Trap: a missing or null field is false as a bare name and 0 in a comparison, and `field < 1` on
text that is no number is false: forbids that need "true", or meet such text, fail open.
Trap: " and " and " or " inside a quoted value split the expression.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

from agentmesh.governance import PolicyEngine

from bench.peers.decision import Decision
from bench.peers.rules import RULES, Condition, Rule

NAME: Final = "agt-engine"
VERSION: Final = version("agent-governance-toolkit-core")
LISTS_ALL: Final = False


def _condition(condition: Condition) -> str:
    path, value = condition.path, condition.value
    if isinstance(value, bool):
        return path if value else f"{path} < 1"
    if isinstance(value, tuple):
        return f"{path} in {list(value)!r}"
    operator = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<"}[condition.op]
    return f"{path} {operator} {value!r}"


def _rule(rule: Rule) -> dict[str, str]:
    return {
        "name": rule.id,
        "condition": " and ".join(map(_condition, rule.when)),
        "action": "allow" if rule.effect == "permit" else "deny",
    }


def policy() -> str:
    """Return the rules as an AGT policy document that denies what no rule decides."""
    return json.dumps(
        {
            "apiVersion": "governance.toolkit/v1",
            "name": "bench",
            "agents": ["*"],
            "default_action": "deny",
            "rules": list(map(_rule, RULES)),
        }
    )


def build() -> Callable[[bytes], Decision]:
    """Load the policy once and return the judge."""
    # Not the engine's own default, which lets the highest priority win, an allow too.
    engine = PolicyEngine(conflict_strategy="deny_overrides")
    engine.load_json(policy())

    def judge(raw: bytes) -> Decision:
        record = json.loads(raw)
        result = engine.evaluate(record["agent"]["id"], record)
        matched = result.matched_rule
        fired = () if result.allowed or matched is None else (matched,)
        return Decision(result.allowed, fired)

    return judge
