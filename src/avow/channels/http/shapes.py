"""The shapes of requests and answers beside the record itself, as OpenAPI publishes them.

Strict and closed: an unknown field is a mistake that the caller should hear of.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_CLOSED = ConfigDict(extra="forbid", strict=True)
Id = Annotated[str, Field(min_length=1, max_length=128)]


class NewAgent(BaseModel):
    """An agent to be registered."""

    model_config = _CLOSED
    id: Id
    trust: Annotated[str, Field(max_length=32)] = "low"
    did: Annotated[str, Field(max_length=128)] | None = None


class AgentShown(BaseModel):
    """A registered agent; its key is never shown again."""

    id: str
    trust: str
    did: str | None
    added: str
    revoked: str | None


class AgentAdded(AgentShown):
    """A fresh agent with its key, shown this once."""

    key: str


class NewPerson(BaseModel):
    """A person to be registered."""

    model_config = _CLOSED
    id: Id
    roles: Annotated[list[Annotated[str, Field(max_length=32)]], Field(max_length=8)]


class PersonShown(BaseModel):
    """A registered person; their key is never shown again."""

    id: str
    roles: list[str]
    added: str
    revoked: str | None


class PersonAdded(PersonShown):
    """A fresh person with their key, shown this once."""

    key: str


class Outcome(BaseModel):
    """What came of a verdict."""

    model_config = _CLOSED
    ended: Annotated[str, Field(max_length=32)]
    note: Annotated[str, Field(max_length=8192)] = ""


class Erasure(BaseModel):
    """A text beside the journal to be erased for good."""

    model_config = _CLOSED
    position: Annotated[int, Field(ge=1, le=2**53)]
    field: Annotated[str, Field(pattern=r"^[a-z_]{1,64}$")] = "declaration"


class Reported(BaseModel):
    """Where the journal holds what was told."""

    position: int


class Permit(BaseModel):
    """A permit and its signature; `token` is the fencing token, larger for every later permit."""

    permit: dict[str, Any]
    signature: dict[str, str]


class BreakerShown(BaseModel):
    """A breaker that is open."""

    agent: str
    means: str
    opened: str


class EntryShown(BaseModel):
    """One entry of the journal."""

    position: int
    hash: str
    previous: str
    body: dict[str, Any]


class Entries(BaseModel):
    """A page of the journal; `next` is what to ask for behind it."""

    origin: str
    size: int
    entries: list[EntryShown]
    next: int | None


class Consistency(BaseModel):
    """The proof that one state of the journal grew into another."""

    first: int
    second: int
    path: list[str]


class Ready(BaseModel):
    """Whether declarations can be judged and recorded now."""

    status: Literal["ready"]
    journal: int
    unanchored: int


class ProblemShown(BaseModel):
    """One thing wrong with a request."""

    path: str
    code: str
    message: str
    hint: str


class Problem(BaseModel):
    """An error: a stable code, what happened, what to do."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    problems: list[ProblemShown]
    trace_id: str
    incident: str = ""
