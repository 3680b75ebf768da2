"""Principals: who is asking, with which roles, and what each role may do.

Owns people as they were registered, the closed set of roles and rights, and the table between them.
An agent declares and sees its own; it never approves and never administers, whatever its trust.
Authentication, which turns a key into a principal, is the engine's.

Clauses: ICNLI-14.2.01.
"""

from dataclasses import dataclass, field
from enum import unique

from avow.core.words import Word


@unique
class Role(Word):
    """What a principal is to Avow; a person may have several, an agent is only ever `AGENT`."""

    AGENT = "agent"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"


@unique
class Right(Word):
    """What a door asks for before it does anything."""

    DECLARE = "declare"
    DECLARE_FOR_OTHERS = "declare for others"
    SEE_ALL = "see all"
    ADMINISTER = "administer"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.AGENT: frozenset({Right.DECLARE}),
    Role.AUDITOR: frozenset({Right.SEE_ALL}),
    Role.OPERATOR: frozenset({Right.DECLARE, Right.SEE_ALL}),
    Role.APPROVER: frozenset({Right.SEE_ALL}),
    Role.ADMIN: frozenset(Right),
}
PEOPLE_ROLES = tuple(role for role in Role if role is not Role.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One registered human; a revoked one stays known, and may do nothing."""

    id: str
    roles: frozenset[Role]
    key_digest: str
    added_ms: int
    revoked_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated identity."""

    id: str
    roles: frozenset[Role]
    # What the roles carry, kept because it is asked several times for every declaration.
    rights: frozenset[Right] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        carried = [RIGHTS[role] for role in self.roles]
        object.__setattr__(self, "rights", frozenset().union(*carried))

    @property
    def is_agent(self) -> bool:
        """Return whether this is an agent and not a person."""
        return Role.AGENT in self.roles

    def may(self, right: Right) -> bool:
        """Return whether one of its roles carries the right."""
        return right in self.rights
