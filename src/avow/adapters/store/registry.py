"""Agents and people: the repositories of who may ask.

Written once for every database; moves of state are compare-and-set.
"""

from avow.adapters.store.connection import Connection, Row
from avow.core.agent import Agent
from avow.core.principal import Person, Role
from avow.core.words import TRUST

_AGENTS = "SELECT id, trust, key_digest, did, added_ms, revoked_ms FROM agents WHERE tenant = ?"
_PEOPLE = "SELECT id, roles, key_digest, added_ms, revoked_ms FROM people WHERE tenant = ?"


class AgentRepository:
    """The agents of one tenant; found ones are remembered as long as the transaction lasts."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant
        self._found: dict[str, Agent | None] = {}

    def add(self, agent: Agent) -> bool:
        """Register an agent; false if there is one of that id, which stays as it was."""
        self._found.clear()
        changed = self._connection.change(
            "INSERT INTO agents (tenant, id, trust, key_digest, did, added_ms, revoked_ms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING",
            self._tenant,
            agent.id,
            agent.trust.word,
            agent.key_digest,
            agent.did,
            agent.added_ms,
            agent.revoked_ms,
        )
        return changed == 1

    def find(self, agent_id: str) -> Agent | None:
        """Return an agent by its id."""
        if agent_id not in self._found:
            self._found[agent_id] = self._one(f"{_AGENTS} AND id = ?", agent_id)
        return self._found[agent_id]

    def by_key(self, digest: str) -> Agent | None:
        """Return the agent that a key belongs to."""
        return self._one(f"{_AGENTS} AND key_digest = ?", digest)

    def listed(self) -> list[Agent]:
        """Return all agents by id."""
        return [
            _agent(row) for row in self._connection.rows(f"{_AGENTS} ORDER BY id", self._tenant)
        ]

    def revoke(self, agent_id: str, *, at_ms: int) -> bool:
        """Revoke an agent; false if it is unknown or was revoked before."""
        self._found.clear()
        changed = self._connection.change(
            "UPDATE agents SET revoked_ms = ? WHERE tenant = ? AND id = ? AND revoked_ms IS NULL",
            at_ms,
            self._tenant,
            agent_id,
        )
        return changed == 1

    def forget(self) -> None:
        """Forget what was found: a command that changed it was undone."""
        self._found.clear()

    def _one(self, sql: str, value: str) -> Agent | None:
        rows = self._connection.rows(sql, self._tenant, value)
        return _agent(rows[0]) if rows else None


class PersonRepository:
    """The people of one tenant; found ones are remembered as long as the transaction lasts."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant
        self._found: dict[str, Person | None] = {}

    def add(self, person: Person) -> bool:
        """Register a person; false if there is one of that id, who stays as they were."""
        self._found.clear()
        changed = self._connection.change(
            "INSERT INTO people (tenant, id, roles, key_digest, added_ms, revoked_ms)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING",
            self._tenant,
            person.id,
            " ".join(sorted(role.value for role in person.roles)),
            person.key_digest,
            person.added_ms,
            person.revoked_ms,
        )
        return changed == 1

    def find(self, person_id: str) -> Person | None:
        """Return a person by their id."""
        if person_id not in self._found:
            self._found[person_id] = self._one(f"{_PEOPLE} AND id = ?", person_id)
        return self._found[person_id]

    def by_key(self, digest: str) -> Person | None:
        """Return the person that a key belongs to."""
        return self._one(f"{_PEOPLE} AND key_digest = ?", digest)

    def listed(self) -> list[Person]:
        """Return all people by id."""
        return [
            _person(row) for row in self._connection.rows(f"{_PEOPLE} ORDER BY id", self._tenant)
        ]

    def revoke(self, person_id: str, *, at_ms: int) -> bool:
        """Revoke a person; false if they are unknown or were revoked before."""
        self._found.clear()
        changed = self._connection.change(
            "UPDATE people SET revoked_ms = ? WHERE tenant = ? AND id = ? AND revoked_ms IS NULL",
            at_ms,
            self._tenant,
            person_id,
        )
        return changed == 1

    def forget(self) -> None:
        """Forget what was found: a command that changed it was undone."""
        self._found.clear()

    def _one(self, sql: str, value: str) -> Person | None:
        rows = self._connection.rows(sql, self._tenant, value)
        return _person(rows[0]) if rows else None


def _agent(row: Row) -> Agent:
    name, trust, digest, did, added_ms, revoked_ms = row
    return Agent(
        id=name,
        trust=TRUST[trust],
        key_digest=digest,
        did=did,
        added_ms=added_ms,
        revoked_ms=revoked_ms,
    )


def _person(row: Row) -> Person:
    name, roles, digest, added_ms, revoked_ms = row
    return Person(
        id=name,
        roles=frozenset(map(Role, roles.split(" "))),
        key_digest=digest,
        added_ms=added_ms,
        revoked_ms=revoked_ms,
    )
