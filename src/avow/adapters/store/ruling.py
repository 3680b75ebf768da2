"""Policies that were adopted and breakers that are open, for one tenant.

A policy is stored as its canonical text and read again by digest; `memory` keeps those read before.
"""

from collections.abc import Callable

from avow.adapters.store.connection import Connection
from avow.core.errors import FaultError
from avow.core.policy import Policy
from avow.core.words import Means

ReadPolicy = Callable[[str], Policy]


class PolicyRepository:
    """The policies of one tenant; the one in force is looked up once a transaction."""

    def __init__(
        self, connection: Connection, tenant: str, read: ReadPolicy, memory: dict[str, Policy]
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._read = read
        self._memory = memory
        self._in_force: Policy | None = None

    def in_force(self) -> Policy | None:
        """Return the policy in force; none before the first was adopted."""
        if self._in_force is None:
            rows = self._connection.rows(
                "SELECT digest FROM policies_in_force WHERE tenant = ?", self._tenant
            )
            self._in_force = self._by_digest(rows[0][0]) if rows else None
        return self._in_force

    def adopt(self, policy: Policy, *, replaces: str, at_ms: int) -> bool:
        """Put a policy in force; false if the one it replaces is not in force any more."""
        self.forget()
        self._connection.change(
            "INSERT INTO policies (tenant, digest, name, source, added_ms) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant, digest) DO NOTHING",
            self._tenant,
            policy.digest,
            policy.name,
            policy.source,
            at_ms,
        )
        if replaces:
            changed = self._connection.change(
                "UPDATE policies_in_force SET digest = ? WHERE tenant = ? AND digest = ?",
                policy.digest,
                self._tenant,
                replaces,
            )
        else:
            changed = self._connection.change(
                "INSERT INTO policies_in_force (tenant, digest) VALUES (?, ?)"
                " ON CONFLICT (tenant) DO NOTHING",
                self._tenant,
                policy.digest,
            )
        return changed == 1

    def forget(self) -> None:
        """Look again: a command that changed it was undone, or is about to change it."""
        self._in_force = None

    def _by_digest(self, digest: str) -> Policy:
        known = self._memory.get(digest)
        if known is None:
            rows = self._connection.rows(
                "SELECT source FROM policies WHERE tenant = ? AND digest = ?",
                self._tenant,
                digest,
            )
            known = self._read(rows[0][0])
            if known.digest != digest:
                # Somebody changed the stored text; a policy nobody adopted must not judge.
                raise FaultError("store.incompatible")
            self._memory[digest] = known
        return known


class BreakerRepository:
    """The open breakers of one tenant."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def opened(self, agent: str, means: Means, *, at_ms: int) -> None:
        """Keep that a breaker opened."""
        self._connection.change(
            "INSERT INTO breakers (tenant, agent, means, opened_ms) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant, agent, means) DO UPDATE SET opened_ms = excluded.opened_ms",
            self._tenant,
            agent,
            means.value,
            at_ms,
        )

    def closed(self, agent: str, means: Means) -> bool:
        """Keep that it closed; false if it was not open."""
        changed = self._connection.change(
            "DELETE FROM breakers WHERE tenant = ? AND agent = ? AND means = ?",
            self._tenant,
            agent,
            means.value,
        )
        return changed == 1

    def listed(self) -> list[tuple[str, Means, int]]:
        """Return agent, means and opening of those that are open."""
        rows = self._connection.rows(
            "SELECT agent, means, opened_ms FROM breakers WHERE tenant = ? ORDER BY agent, means",
            self._tenant,
        )
        return [(agent, Means(means), opened_ms) for agent, means, opened_ms in rows]
