"""The shape of an intent record, field by field, as a pydantic model.

Owns names, types and closed sets of the wire; strict types, no unknown fields, nothing scored by
default where the specification requires a value. Fields of one's own start with `x_` and are taken
out before the model sees them. `risk` and `verdict` are accepted as anything and never read.

Clauses: IRL-1.02, IRL-2.01 to IRL-2.03, IRL-2.06 to IRL-2.08, IRL-2.10, IRL-2.13, IRL-6.01.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

SCHEMA_VERSION = "0.1.2"

Text = Annotated[str, StringConstraints(max_length=8192)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"\S")]
Texts = Annotated[list[Text], Field(max_length=256)]
TrustWord = Literal["low", "medium", "high", "verified"]
EnvironmentWord = Literal["local", "staging", "production"]

_EXTENSIBLE = ("Agent", "Operation", "Rationale", "Consequences")
_STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)


class Agent(BaseModel):
    """Who is acting."""

    model_config = _STRICT
    id: Name
    trust_level: TrustWord
    model: Text | None = None
    session_id: Text | None = None


class ToolCall(BaseModel):
    """The call of a registered tool, as evidence for the observers."""

    model_config = _STRICT
    server: Name
    tool: Name
    arguments: dict[str, Any]


class Operation(BaseModel):
    """What the agent wants to do; `command`, `sql` and `tool_call` are what would really run."""

    model_config = _STRICT
    type: Literal["read", "write", "delete", "execute", "network", "auth"]
    target_resource: Name
    target_environment: EnvironmentWord
    scope: Literal["temporary", "permanent", "unknown"] = "permanent"
    estimated_rows_affected: Annotated[int, Field(ge=-1)] = -1
    source_environment: EnvironmentWord | None = None
    command: Annotated[str, StringConstraints(max_length=65536)] | None = None
    sql: Annotated[str, StringConstraints(max_length=65536)] | None = None
    tool_call: ToolCall | None = None


class Rationale(BaseModel):
    """Why the agent thinks this is necessary."""

    model_config = _STRICT
    verified: bool
    stated_goal: Text = ""
    assumed_safe: bool | None = None
    alternatives_considered: Texts = Field(default_factory=list)
    evidence: Texts = Field(default_factory=list)


class Consequences(BaseModel):
    """What happens if this goes wrong, by the agent's own word."""

    model_config = _STRICT
    reversible: bool
    rollback_plan: bool
    data_loss_risk: Literal["none", "partial", "total"] | None = None
    affects_backups: bool | None = None
    downstream_services: Texts = Field(default_factory=list)
    snapshot_id: Name | None = None


class Signature(BaseModel):
    """Who signed the record, when, and under which id; the key is the one that was registered."""

    model_config = _STRICT
    did: Annotated[str, StringConstraints(pattern=r"^did:key:z[1-9A-HJ-NP-Za-km-z]{40,64}$")]
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{8,128}$")]
    signed_ms: Annotated[int, Field(ge=0, le=2**48)]
    value: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{86}==$")]


class Record(BaseModel):
    """An intent record: four groups by the agent; two more are discarded unread."""

    model_config = _STRICT
    irl_version: Literal["0.1"]
    agent: Agent
    operation: Operation
    rationale: Rationale
    consequences: Consequences
    signature: Signature | None = None
    risk: Any = None
    verdict: Any = None


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a record, as published; fields of one's own start with `x_`."""
    made = Record.model_json_schema()
    own: dict[str, Any] = {"^x_": {}}
    for group in (made, *(made["$defs"][name] for name in _EXTENSIBLE)):
        group["patternProperties"] = own
    return {"$id": f"urn:avow:irl-record:{SCHEMA_VERSION}", **made}
