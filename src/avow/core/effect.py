"""An effect: one means, on one resource, in one place. The unit that everything judges.

Owns the shape and the table from means to predicate. Knows no weights and no outcomes.
"""

from dataclasses import dataclass

from avow.core.resource import Resource
from avow.core.words import Environment, Means, Origin, Predicate, Truth

PREDICATE_OF: dict[Means, Predicate] = {
    Means.READ: Predicate.CONSUMES,
    Means.WRITE: Predicate.MUTATES,
    Means.DELETE: Predicate.DELETES,
    # Running, calling out and granting may change what they touch: the exclusive claim is safer.
    Means.EXECUTE: Predicate.MUTATES,
    Means.NETWORK: Predicate.MUTATES,
    Means.AUTH: Predicate.MUTATES,
    Means.SHELL: Predicate.MUTATES,
    Means.CHAIN: Predicate.MUTATES,
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What would happen to what, where, and whether there is a way back.

    `environment` is what this effect's origin says; None means nobody said.
    """

    predicate: Predicate
    means: Means
    resource: Resource
    environment: Environment | None
    reversible: Truth
    origin: Origin = Origin.CLAIMED
