"""Commands that change who may ask: agents and people are added and revoked, and it is journalled.

A key is made by the caller's entropy, handed out once in the answer, and kept only as its digest;
the journal names the principal and never the key.

Clauses: ICNLI-14.1.02.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from avow.core import agent as agents
from avow.core import did as dids
from avow.core.agent import Agent
from avow.core.errors import ConflictError, MalformedError, Problem, RefusedError
from avow.core.principal import PEOPLE_ROLES, Person, Principal, Role
from avow.core.words import TRUST, Trust
from avow.engine.ports import Transaction

# What an id may be made of: it stands in addresses, tables and logs.
RESERVED = frozenset({"console", "file", "rate", "time"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAgent:
    """Register an agent under the digest of its key."""

    by: str
    agent_id: str
    trust: Trust
    key_digest: str
    did: str | None = None

    def __call__(self, transaction: Transaction) -> Agent:
        """Add it, or raise if there is one of that id, agent or person."""
        now_ms = transaction.now_ms()
        made = Agent(
            id=self.agent_id,
            trust=self.trust,
            key_digest=self.key_digest,
            did=self.did,
            added_ms=now_ms,
        )
        if transaction.people.find(self.agent_id) or not transaction.agents.add(made):
            raise ConflictError("agent.exists", f"there is a principal `{self.agent_id}` already")
        transaction.journal.append(
            {
                "agent": self.agent_id,
                "at": now_ms,
                "by": self.by,
                "did": self.did,
                "kind": "agent",
                "state": "added",
                "trust": self.trust.word,
            }
        )
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPerson:
    """Register a person under the digest of their key."""

    by: str
    person_id: str
    roles: frozenset[Role]
    key_digest: str

    def __call__(self, transaction: Transaction) -> Person:
        """Add them, or raise if there is a principal of that id."""
        now_ms = transaction.now_ms()
        made = Person(
            id=self.person_id, roles=self.roles, key_digest=self.key_digest, added_ms=now_ms
        )
        if transaction.agents.find(self.person_id) or not transaction.people.add(made):
            raise ConflictError("person.exists", f"there is a principal `{self.person_id}` already")
        transaction.journal.append(
            {
                "at": now_ms,
                "by": self.by,
                "kind": "person",
                "person": self.person_id,
                "roles": sorted(role.value for role in self.roles),
                "state": "added",
            }
        )
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeAgent:
    """Revoke an agent: its key stops working, its trust is gone."""

    by: str
    agent_id: str

    def __call__(self, transaction: Transaction) -> None:
        """Revoke it, or raise if there is nothing to revoke."""
        now_ms = transaction.now_ms()
        if not transaction.agents.revoke(self.agent_id, at_ms=now_ms):
            raise RefusedError("agent.unknown", f"there is no active agent `{self.agent_id}`")
        transaction.journal.append(
            {
                "agent": self.agent_id,
                "at": now_ms,
                "by": self.by,
                "kind": "agent",
                "state": "revoked",
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokePerson:
    """Revoke a person; the last admin stays, or nobody could ever add another."""

    by: str
    person_id: str

    def __call__(self, transaction: Transaction) -> None:
        """Revoke them, or raise."""
        now_ms = transaction.now_ms()
        active = [person for person in transaction.people.listed() if person.revoked_ms is None]
        admins = [person.id for person in active if Role.ADMIN in person.roles]
        if admins == [self.person_id]:
            raise ConflictError("person.last_admin", f"`{self.person_id}` is the last admin")
        if not transaction.people.revoke(self.person_id, at_ms=now_ms):
            raise RefusedError("person.unknown", f"there is no active person `{self.person_id}`")
        transaction.journal.append(
            {
                "at": now_ms,
                "by": self.by,
                "kind": "person",
                "person": self.person_id,
                "state": "revoked",
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAdmin:
    """A command that only an admin may give, asked of the registry in its own transaction."""

    principal: Principal
    command: Callable[[Transaction], Any]

    def __call__(self, transaction: Transaction) -> Any:
        """Execute it, or raise if the principal is no admin any more."""
        person = transaction.people.find(self.principal.id)
        if person is None or person.revoked_ms is not None:
            raise RefusedError("auth.revoked", f"the key of `{self.principal.id}` was revoked")
        if Role.ADMIN not in person.roles:
            raise RefusedError("auth.forbidden", f"`{self.principal.id}` is no admin")
        return self.command(transaction)


def fresh_key(entropy: bytes) -> tuple[str, str]:
    """Return a fresh key, to be shown once, and what is kept of it."""
    made = agents.key(entropy)
    return made, agents.key_digest(made)


def read_agent(agent_id: str, trust: str, did: str | None) -> tuple[str, Trust, str | None]:
    """Return what a caller wants registered, or raise with every problem."""
    problems = _id_problems("id", agent_id)
    if trust not in TRUST:
        message = f"`{trust[:40]}` is not one of {', '.join(TRUST)}"
        problems.append(Problem("trust", "field.unknown_value", message))
    if did is not None:
        try:
            dids.key(did)
        except MalformedError as error:
            problems.append(Problem("did", error.code, error.problems[0].message))
    if problems:
        raise MalformedError("registration.invalid", problems)
    return agent_id, TRUST[trust], did


def read_person(person_id: str, roles: list[str]) -> tuple[str, frozenset[Role]]:
    """Return who a caller wants registered, or raise with every problem."""
    problems = _id_problems("id", person_id)
    known = {role.value: role for role in PEOPLE_ROLES}
    unknown = [role for role in roles if role not in known]
    for role in unknown:
        message = f"`{role[:40]}` is not one of {', '.join(known)}"
        problems.append(Problem("roles", "field.unknown_value", message))
    if not roles:
        problems.append(Problem("roles", "field.missing", "is required"))
    if problems:
        raise MalformedError("registration.invalid", problems)
    return person_id, frozenset(known[role] for role in roles)


def principal_of(found: Agent | Person) -> Principal:
    """Return the principal that a registered agent or person is."""
    roles = found.roles if isinstance(found, Person) else frozenset({Role.AGENT})
    return Principal(found.id, roles)


def _id_problems(path: str, given: str) -> list[Problem]:
    if given in RESERVED:
        return [Problem(path, "field.out_of_range", f"`{given}` stands for Avow's own doing")]
    if _ID.fullmatch(given):
        return []
    message = "expected letters, digits and . _ : @ / -, at most 128 of them"
    return [Problem(path, "field.out_of_range", message)]
