"""Known resources: what Avow was told by its operators, not by agents.

Owns the facts about a resource and their lookup by exact identity. These are observations: they
decide where an agent's claim differs. It does not know where the facts were loaded from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from avow.core.resource import Resource
from avow.core.words import Environment, Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The facts about one resource; what is not known is left open."""

    environment: Environment | None = None
    affects_backups: Truth = Truth.UNKNOWN
    reversible_delete: Truth = Truth.UNKNOWN
    protected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All known resources, the snapshots with what they hold, the facts that evidence may name."""

    resources: Mapping[Resource, Known] = field(default_factory=dict)
    snapshots: Mapping[str, Resource] = field(default_factory=dict)
    facts: frozenset[str] = frozenset()

    def known(self, resource: Resource) -> Known:
        """Return what is known of a resource; of an unlisted one, nothing."""
        return self.resources.get(resource, _NOTHING_KNOWN)

    def restores(self, snapshot_id: str | None, resource: Resource) -> bool:
        """Return whether that snapshot exists and holds the resource, so that it is a way back."""
        held = self.snapshots.get(snapshot_id) if snapshot_id is not None else None
        return held is not None and held.contains(resource)

    def resolves(self, evidence: tuple[str, ...]) -> bool:
        """Return whether there is evidence and every piece of it is a known fact."""
        return bool(evidence) and self.facts.issuperset(evidence)


_NOTHING_KNOWN = Known()
EMPTY = Inventory()
