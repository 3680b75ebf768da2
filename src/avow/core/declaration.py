"""What was declared, once its dialect has been left behind.

Owns the shape of a declaration and of its claims. What the agent says are `Claims`; they share no
type with anything Avow computes. It does not judge and does not seal.

Clauses: IRL-1.02, IRL-2.02, IRL-2.10, IRL-2.13.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from avow.core.effect import Effect
from avow.core.signing import Seal
from avow.core.untrusted import Untrusted
from avow.core.words import DataLoss, Environment, Scope, Trust, Truth


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that was filled in or not believed, shown wherever the verdict is shown."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What the agent says about its own action. Claims may only make the verdict stricter."""

    trust: Trust
    verified: Truth = Truth.UNKNOWN
    evidence: tuple[str, ...] = ()
    assumed_safe: Truth = Truth.UNKNOWN
    alternatives: tuple[str, ...] = ()
    rollback_plan: Truth = Truth.UNKNOWN
    snapshot_id: str | None = None
    data_loss: DataLoss = DataLoss.UNDECLARED
    affects_backups: Truth = Truth.UNKNOWN
    downstream: tuple[str, ...] = ()
    scope: Scope = Scope.PERMANENT
    rows: int = -1
    source_environment: Environment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """The text that would really run, kept verbatim as evidence for the observers."""

    command: str | None = None
    sql: str | None = None
    tool_call: Mapping[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.command is not None or self.sql is not None or self.tool_call is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One declaration after its dialect was read: valid in shape, judged by nobody yet.

    `keeps_diligence` tells whether the dialect asks the agent for diligence (verification,
    alternatives, a rollback plan); `ignored` names the groups that were discarded unread.
    """

    dialect: str
    agent: str
    effects: tuple[Effect, ...]
    claims: Claims
    goal: Untrusted = field(default_factory=Untrusted)
    session: str | None = None
    model: str | None = None
    runnable: Runnable = field(default_factory=Runnable)
    keeps_diligence: bool = False
    seal: Seal | None = None
    assumptions: tuple[Assumption, ...] = ()
    ignored: tuple[str, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)
