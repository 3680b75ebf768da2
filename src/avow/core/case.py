"""A case: one effect as the judge sees it, every open question settled to the worse side.

Owns how claims and observations are brought together: claims only harden, observations decide,
missing is the worse case, and what is not believed is recorded as an assumption. The fields of a
case are the fields a policy rule may name. It gives no outcome.

Clauses: IRL-2.04, IRL-2.09, IRL-2.12, IRL-2.13, IRL-2.15.
"""

from typing import NamedTuple

from avow.core import hazard
from avow.core.canonical import INTEGER_MAX
from avow.core.declaration import Assumption, Claims
from avow.core.effect import Effect
from avow.core.intent import Intent
from avow.core.inventory import Known
from avow.core.policy import OPEN_FIELDS, Policy, TrustSource
from avow.core.resource import Resource
from avow.core.situation import Situation
from avow.core.words import (
    SEVERITY,
    DataLoss,
    Environment,
    Inspection,
    Means,
    Predicate,
    Scope,
    Signature,
    Trust,
    Truth,
)

# Every delete has at least this hazard.
_SNAPSHOT_FROM_HAZARD = 3
_INSIDE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_MEANT = {
    "local": Environment.LOCAL,
    "staging": Environment.STAGING,
    "production": Environment.PRODUCTION,
    "prod": Environment.PRODUCTION,
}

_NOT_REGISTERED = Assumption("agent.trust_level", "the agent is not registered: trust low")
_NOT_AS_TRUSTED = Assumption("agent.trust_level", "the registered trust is lower and counts")
_NOT_SIGNED = Assumption("agent.trust_level", "verified needs a valid signature: trust high")
_NO_EVIDENCE = Assumption(
    "rationale.verified", "no evidence that resolves: counts as false at this hazard"
)
_NO_SNAPSHOT = Assumption(
    "consequences.rollback_plan", "no known snapshot holds the target: counts as false"
)
_BACKUPS_ABSENT = Assumption("consequences.affects_backups", "absent: counts as true here")
_NO_ENVIRONMENT = Assumption("operation.target_environment", "unknown: counts as production")


# A named tuple and not a dataclass: twenty fields are set on every judgement, and a frozen
# dataclass pays for each of them with a call (measured: 0.6 us against 3.1 us).
class Case(NamedTuple):
    """One effect with everything that bears on it; `docs/reference/policy.md` explains fields."""

    means: Means
    predicate: Predicate
    broad: bool
    environment: Environment
    reversible: Truth
    hazard: int
    trust: Trust
    signature: Signature
    diligence: bool
    verified: bool
    alternatives: bool
    rollback_plan: bool
    affects_backups: bool
    data_loss: DataLoss
    crosses_environment: bool
    goal_names_other_environment: bool
    inspection: Inspection
    protected: bool
    scope: Scope
    # Open fields, whose values are endless, stand last; see `CLOSED_FIELDS`.
    resource: Resource
    rows: int
    agent: str
    dialect: str


CLOSED_FIELDS = len(Case._fields) - len(OPEN_FIELDS)


def cases(intent: Intent, situation: Situation) -> tuple[tuple[Case, ...], tuple[Assumption, ...]]:
    """Return one case for each effect, and what was assumed on the way."""
    assumed: list[Assumption] = []
    trust = _trust(intent.declaration.claims, situation, assumed)
    effects = intent.declaration.effects
    built = tuple([_case(effect, intent, situation, trust, assumed) for effect in effects])
    return built, tuple(assumed if len(effects) == 1 else dict.fromkeys(assumed))


class _Settled(NamedTuple):
    """What claim and inventory come to, before evidence is looked at."""

    environment: Environment
    reversible: Truth
    hazard: int
    affects_backups: bool


def _case(
    effect: Effect,
    intent: Intent,
    situation: Situation,
    trust: Trust,
    assumed: list[Assumption],
) -> Case:
    """Bring everything that bears on one effect together."""
    declaration, inspection = intent.declaration, intent.inspection
    claims = declaration.claims
    known = situation.inventory.known(effect.resource)
    settled = _settled(effect, claims, known, situation.policy, assumed)
    environment, source = settled.environment, claims.source_environment
    return Case(
        effect.means,
        effect.predicate,
        effect.resource.is_broad,
        environment,
        settled.reversible,
        settled.hazard,
        trust,
        situation.signature,
        declaration.keeps_diligence and inspection is not Inspection.OBSERVED,
        _verified(claims, situation, settled.hazard, assumed),
        any(map(str.strip, claims.alternatives)),
        _rollback(effect, claims, situation, settled.hazard, assumed),
        settled.affects_backups,
        claims.data_loss,
        source is not None and source is not environment,
        _names_other(declaration.goal.raw, environment),
        inspection,
        known.protected,
        claims.scope,
        effect.resource,
        claims.rows if claims.rows >= 0 else INTEGER_MAX,
        declaration.agent,
        declaration.dialect,
    )


def _settled(
    effect: Effect, claims: Claims, known: Known, policy: Policy, assumed: list[Assumption]
) -> _Settled:
    """Settle what claim and inventory say.

    1. Environment, reversibility and backups are the worse of the two.
    2. Hazard is computed from these, with absent backups unaffected, and then stands.
    3. From the policy's hazard upwards, absent backups count as affected.
    """
    # 1
    environment = _environment(effect, known, assumed)
    reversible = _reversible(effect, known)
    backups = _worse(claims.affects_backups, known.affects_backups)
    # 2
    hazard_class = hazard.of(
        effect.means, environment=environment, reversible=reversible, affects_backups=backups
    )
    # 3
    if backups is Truth.UNKNOWN and hazard_class >= policy.backups_assumed_from_hazard:
        assumed.append(_BACKUPS_ABSENT)
        return _Settled(environment, reversible, hazard_class, affects_backups=True)
    return _Settled(environment, reversible, hazard_class, backups is Truth.YES)


def _trust(claims: Claims, situation: Situation, assumed: list[Assumption]) -> Trust:
    """Return the lower of declared and registered trust; `VERIFIED` only when signed."""
    declared = claims.trust
    if situation.policy.trust_source is TrustSource.DECLARED:
        return declared
    registered = situation.registered_trust
    if registered is None:
        if declared > Trust.LOW:
            assumed.append(_NOT_REGISTERED)
        return Trust.LOW
    if registered < declared:
        assumed.append(_NOT_AS_TRUSTED)
    trust = min(declared, registered)
    if trust is Trust.VERIFIED and situation.signature is not Signature.VALID:
        assumed.append(_NOT_SIGNED)
        return Trust.HIGH
    return trust


def _environment(effect: Effect, known: Known, assumed: list[Assumption]) -> Environment:
    told = [place for place in (effect.environment, known.environment) if place is not None]
    if not told:
        assumed.append(_NO_ENVIRONMENT)
        return Environment.PRODUCTION
    return max(told, key=SEVERITY.__getitem__)


def _reversible(effect: Effect, known: Known) -> Truth:
    """Return the claim, unless the inventory knows that a delete has no way back."""
    if effect.means is Means.DELETE and known.reversible_delete is Truth.NO:
        return Truth.NO
    return effect.reversible


def _worse(claim: Truth, observed: Truth) -> Truth:
    """Return whether backups are hit: either voice saying yes is enough, no needs one voice."""
    if Truth.YES in (claim, observed):
        return Truth.YES
    return Truth.NO if Truth.NO in (claim, observed) else Truth.UNKNOWN


def _verified(
    claims: Claims, situation: Situation, hazard_class: int, assumed: list[Assumption]
) -> bool:
    if claims.verified is not Truth.YES:
        return False
    needs_evidence = hazard_class >= situation.policy.evidence_from_hazard
    if needs_evidence and not situation.inventory.resolves(claims.evidence):
        assumed.append(_NO_EVIDENCE)
        return False
    return True


def _rollback(
    effect: Effect,
    claims: Claims,
    situation: Situation,
    hazard_class: int,
    assumed: list[Assumption],
) -> bool:
    if claims.rollback_plan is not Truth.YES:
        return False
    policy = situation.policy
    needs_snapshot = policy.rollback_needs_snapshot and hazard_class >= _SNAPSHOT_FROM_HAZARD
    if needs_snapshot and not situation.inventory.restores(claims.snapshot_id, effect.resource):
        assumed.append(_NO_SNAPSHOT)
        return False
    return True


def _names_other(goal: str, environment: Environment) -> bool:
    lowered = goal.lower()
    return any(
        place is not environment and _mentions(lowered, word) for word, place in _MEANT.items()
    )


def _mentions(text: str, word: str) -> bool:
    """Return whether the word stands alone in the text; `_` and `-` end a word, as in `prod_db`.

    Goals can be long, and looking for letters is far cheaper than a pattern.
    """
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if before not in _INSIDE and after not in _INSIDE:
            return True
        at = text.find(word, at + 1)
    return False
