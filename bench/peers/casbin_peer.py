"""casbin: the twenty rules as policy rows whose condition the matcher runs through `eval()`.

Like for like: the same conditions and the same effect (some permit and no deny), in the form
casbin documents for attribute rules in quantity. The fields go in as separate request values,
which is the fastest of the forms tried (attributes of one nested object: a fifth slower or
more).

Not like for like, in casbin's favour: nothing validates the record, while avow's time includes
strict admission, schema validation, the digest, the score and the reasons. And casbin stops at
the first deny, so `enforce_ex` names one rule, never all of them: on the dangerous record it
tries five rows of twenty.

Not like for like, against it: casbin parses every row's expression anew on every call, and
offers no way to keep the parsed form. A matcher without `eval()`, over one policy column per
field and with a function of one's own for the ranges, is parsed once a call; it took about
as long on the dangerous record and well under half on the harmless one. It is not used here
because its rows are no longer text that a casbin adapter could load.

Trap: with the effect most examples use, `some(where (p.eft == allow))`, deny rows do nothing.
Trap: `enable_enforce(False)` turns every answer into an allow.
Trap: a field of another type is quietly unequal, so a forbid on `"no"` for `false` does not
fire; only a comparison of sizes raises. A missing field raises in the flattening here.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

import casbin  # type: ignore[import-untyped]  # casbin ships neither types nor stubs

from bench.peers.decision import Decision
from bench.peers.rules import FIELDS, RULES, Condition, Rule

NAME: Final = "casbin"
VERSION: Final = version("casbin")
LISTS_ALL: Final = False


def _name(path: str) -> str:
    return path.replace(".", "_")


_MODEL: Final = f"""
[request_definition]
r = {", ".join(_name(path) for path, _, _ in FIELDS)}
[policy_definition]
p = id, condition, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = eval(p.condition)
"""


def _condition(condition: Condition) -> str:
    # `==` for booleans: casbin raises on a matcher whose result is not a bool.
    operator = {"eq": "==", "ne": "!=", "in": "in", "gt": ">", "lt": "<", "is": "=="}
    return f"r.{_name(condition.path)} {operator[condition.op]} {condition.value!r}"


def _row(rule: Rule) -> list[str]:
    effect = "allow" if rule.effect == "permit" else "deny"
    return [rule.id, " && ".join(map(_condition, rule.when)), effect]


def build() -> Callable[[bytes], Decision]:
    """Load model and rows once and return the judge."""
    enforcer = casbin.Enforcer(casbin.Enforcer.new_model(text=_MODEL))
    enforcer.add_policies([_row(rule) for rule in RULES])

    def judge(raw: bytes) -> Decision:
        record = json.loads(raw)
        values = [record[section][field] for _, section, field in FIELDS]
        allowed, row = enforcer.enforce_ex(*values)
        # The explained row is the deny that decided; an allow explains nothing.
        return Decision(bool(allowed), tuple(row[:1]))

    return judge
