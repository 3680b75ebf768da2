"""Agents and verdicts: the repositories of who may declare and what was concluded.

Written once for every database; moves of state are compare-and-set.
"""

from avow.adapters.store.connection import Connection, Row
from avow.core.agent import Agent
from avow.core.words import TRUST
from avow.engine.ports import Concluded

_AGENTS = "SELECT id, trust, key_digest, did, added_ms, revoked_ms FROM agents WHERE tenant = ?"


class AgentRepository:
    """The agents of one tenant."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def add(self, agent: Agent) -> bool:
        """Register an agent; false if there is one of that id, which stays as it was."""
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
        return self._one(f"{_AGENTS} AND id = ?", agent_id)

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
        changed = self._connection.change(
            "UPDATE agents SET revoked_ms = ? WHERE tenant = ? AND id = ? AND revoked_ms IS NULL",
            at_ms,
            self._tenant,
            agent_id,
        )
        return changed == 1

    def _one(self, sql: str, value: str) -> Agent | None:
        rows = self._connection.rows(sql, self._tenant, value)
        return _agent(rows[0]) if rows else None


class VerdictRepository:
    """The verdicts of one tenant; the journal holds what led to them."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def add(self, concluded: Concluded) -> None:
        """Keep one verdict beside its entry."""
        self._connection.change(
            "INSERT INTO verdicts (tenant, id, position, agent, intent, outcome, at_ms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            self._tenant,
            *concluded,
        )

    def find(self, verdict_id: str) -> Concluded | None:
        """Return a verdict by its id."""
        rows = self._connection.rows(
            "SELECT id, position, agent, intent, outcome, at_ms FROM verdicts"
            " WHERE tenant = ? AND id = ?",
            self._tenant,
            verdict_id,
        )
        return Concluded(*rows[0]) if rows else None


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
