"""AGT's `govern()`: the two-line wrapper, with the audit log it keeps by default.

Like for like: the policy of `agt_engine`, word for word, so all that is said there holds here.
On top of it, and against AGT in the comparison, every call appends a hash-chained entry to an
audit log in memory; avow's own log is not part of avow's time. `audit=False` would leave the
engine's time and little else.

The wrapped function is empty: it stands for the governed tool, whose work is not measured.
Denials come back through `on_deny`, which spares AGT the cost of raising an exception.

Trap: the audit log has no bound; a long measurement grows it, and it is never written out.
Trap: a top-level value that is no object reaches the rules as `name.value`.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from agentmesh.governance import PolicyDecision, govern

from bench.peers.agt_engine import policy
from bench.peers.decision import Decision

NAME: Final = "agt-govern"
VERSION: Final = version("agent-governance-toolkit-core")
LISTS_ALL: Final = False


def _tool(**_record: Any) -> Decision:
    return Decision(allowed=True, fired=())


def _denied(result: PolicyDecision) -> Decision:
    matched = result.matched_rule
    return Decision(allowed=False, fired=() if matched is None else (matched,))


def build() -> Callable[[bytes], Decision]:
    """Wrap the empty tool once and return the judge."""
    governed = govern(_tool, policy=policy(), on_deny=_denied)

    def judge(raw: bytes) -> Decision:
        decision: Decision = governed(**json.loads(raw))
        return decision

    return judge
