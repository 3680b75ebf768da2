"""AGT's `SharedPolicyEvaluator`: the fastest door of the toolkit that can say these rules.

The toolkit has several policy doors in one package. This is the one its own benchmark page
reports as the quickest, and the one native door whose rules are data with typed conjunctions.
The others: `agt_engine` (the policy engine with text expressions), `agt_govern` (the wrapper
around that engine). `agent_os.policies.PolicyEvaluator` and the trust policy evaluator take a
single condition a rule and `agent_os.lite` only an action's name, so neither can say them.

Like for like: the same twenty rules, forbids before the permit. Not like for like, in AGT's
favour: nothing validates the record, while avow's time includes strict admission, schema
validation, the digest, the score and the reasons; and it stops at the first match, so it names
one rule, never all of them. Not like for like, against it: every answer carries an audit entry
with a deep copy of the context and a timestamp, which cannot be switched off.

Conditions read top-level keys only, so the fields the rules need are flattened first.

Trap: with no matching rule the answer is allow. This module takes that for a deny.
Trap: a condition on a missing or null field is false, so a forbid on it does not fire. The
flattening here raises on a missing field; null still fails open.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

from agent_os.policies import Condition as SharedCondition
from agent_os.policies import SharedPolicyEvaluator, SharedPolicyRule

from bench.peers.decision import Decision
from bench.peers.rules import FIELDS, RULES, Rule

NAME: Final = "agt-shared"
VERSION: Final = version("agent-governance-toolkit-core")
LISTS_ALL: Final = False


def _rule(rule: Rule) -> SharedPolicyRule:
    permit = rule.effect == "permit"
    return SharedPolicyRule(
        id=rule.id,
        action="allow" if permit else "deny",
        conditions=[
            SharedCondition(
                field=condition.path,
                operator="eq" if condition.op == "is" else condition.op,
                value=condition.value,
            )
            for condition in rule.when
        ],
        # The first match decides, highest priority first: every forbid before the permit.
        priority=0 if permit else 1,
    )


def build() -> Callable[[bytes], Decision]:
    """Make the rules once and return the judge."""
    evaluator = SharedPolicyEvaluator()
    rules = [_rule(rule) for rule in RULES]

    def judge(raw: bytes) -> Decision:
        record = json.loads(raw)
        context = {path: record[section][field] for path, section, field in FIELDS}
        result = evaluator.evaluate(context, rules)
        matched = result.matched_rule_id
        if matched is None or result.allowed:
            return Decision(matched is not None, ())
        return Decision(allowed=False, fired=(matched,))

    return judge
