"""Known resources: what Avow was told by its operators, not by agents.

Owns the facts about resources and their lookup: what is known of a resource holds for all that lies
below it. These are observations: they decide where an agent's claim differs. It does not know where
the facts were loaded from. Plain values (texts, flags) are taken as well as our own words, and
anything else is refused: a fact that cannot be read must not pass for one that is not there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from avow.core import resource
from avow.core.errors import MalformedError, Problem
from avow.core.resource import Resource
from avow.core.words import SEVERITY, Environment, Truth

_TRUTHS: dict[Any, Truth] = {True: Truth.YES, False: Truth.NO, None: Truth.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The facts about one resource and all below it; what is not known is left open."""

    environment: Environment | None = None
    affects_backups: Truth = Truth.UNKNOWN
    reversible_delete: Truth = Truth.UNKNOWN
    protected: bool = False

    def __post_init__(self) -> None:
        # Whatever was really given: an untyped caller writes "production" and True.
        if self.environment is not None:
            object.__setattr__(self, "environment", _environment(self.environment))
        for name in ("affects_backups", "reversible_delete"):
            object.__setattr__(self, name, _truth(getattr(self, name), name))
        if not isinstance(self.protected, bool):
            raise _malformed("protected", "expected true or false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All known resources, the snapshots with what they hold, the facts that evidence may name."""

    resources: Mapping[Resource | str, Known] = field(default_factory=dict)
    snapshots: Mapping[str, Resource | str] = field(default_factory=dict)
    facts: Iterable[str] = frozenset()

    def __post_init__(self) -> None:
        listed = {_resource(name): known for name, known in self.resources.items()}
        if not all(isinstance(known, Known) for known in listed.values()):
            raise _malformed("resources", "expected facts of the type `Known`")
        held = {name: _resource(target) for name, target in self.snapshots.items()}
        object.__setattr__(self, "resources", listed)
        object.__setattr__(self, "snapshots", held)
        object.__setattr__(self, "facts", frozenset(self.facts))

    def known(self, target: Resource) -> Known:
        """Return the worst of what is known of a resource and of everything above it."""
        if not self.resources:
            return _NOTHING_KNOWN
        found = [self.resources[above] for above in target.and_above() if above in self.resources]
        if len(found) <= 1:
            return found[0] if found else _NOTHING_KNOWN
        places = [one.environment for one in found if one.environment is not None]
        return Known(
            environment=max(places, key=SEVERITY.__getitem__, default=None),
            affects_backups=_either(found, "affects_backups", worse=Truth.YES),
            reversible_delete=_either(found, "reversible_delete", worse=Truth.NO),
            protected=any(one.protected for one in found),
        )

    def restores(self, snapshot_id: str | None, target: Resource) -> bool:
        """Return whether that snapshot exists and holds the resource, so that it is a way back."""
        held = self.snapshots.get(snapshot_id) if snapshot_id is not None else None
        return isinstance(held, Resource) and held.contains(target)

    def resolves(self, evidence: tuple[str, ...]) -> bool:
        """Return whether there is evidence and every piece of it is a known fact."""
        return bool(evidence) and frozenset(self.facts).issuperset(evidence)


def _either(found: list[Known], name: str, *, worse: Truth) -> Truth:
    told = [getattr(one, name) for one in found]
    if worse in told:
        return worse
    return next((truth for truth in told if truth is not Truth.UNKNOWN), Truth.UNKNOWN)


def _environment(given: Any) -> Environment:
    if given not in tuple(Environment):
        raise _malformed("environment", f"expected one of {', '.join(Environment)}")
    return Environment(given)


def _truth(given: Any, name: str) -> Truth:
    if isinstance(given, Truth):
        return given
    if given is not None and not isinstance(given, bool):
        raise _malformed(name, "expected true, false or nothing")
    return _TRUTHS[given]


def _resource(given: Any) -> Resource:
    if isinstance(given, Resource):
        return given
    if not isinstance(given, str):
        raise _malformed("resources", "expected the name of a resource")
    return resource.read(given)


def _malformed(path: str, message: str) -> MalformedError:
    return MalformedError("inventory.invalid", [Problem(path, "inventory.invalid", message)])


_NOTHING_KNOWN = Known()
EMPTY = Inventory()
