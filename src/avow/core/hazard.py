"""Hazard: the inherent class 0 to 4 of an effect, derived and never declared lower.

Owns the base class by means and what raises it. Missing knowledge raises: a reversibility nobody
knows counts as irreversible, and the caller passes production where no environment is known.
Backups are the one exception: here absent means unaffected, because the points for absent
knowledge apply afterwards, from a hazard that is not computed again.
"""

from avow.core.words import Environment, Means, Truth

HIGHEST = 4
_IRREVERSIBLE_PRODUCTION = 3

BASE: dict[Means, int] = {
    Means.READ: 0,
    Means.WRITE: 2,
    Means.NETWORK: 2,
    Means.DELETE: 3,
    Means.EXECUTE: 3,
    Means.SHELL: 3,
    Means.AUTH: 3,
    Means.CHAIN: 4,
}


def of(means: Means, *, environment: Environment, reversible: Truth, affects_backups: Truth) -> int:
    """Return the lowest class this effect may have.

    1. Reading is 0, whatever else is said.
    2. Touching backups, or deleting without a way back, is 4.
    3. Anything without a way back in production is at least 3.
    4. Otherwise the base of its means.
    """
    if means is Means.READ:
        return 0
    irreversible = reversible is not Truth.YES
    if affects_backups is Truth.YES or (means is Means.DELETE and irreversible):
        return HIGHEST
    if irreversible and environment is Environment.PRODUCTION:
        return max(BASE[means], _IRREVERSIBLE_PRODUCTION)
    return BASE[means]
