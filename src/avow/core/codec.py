"""Declarations as canonical text: the meaning that is digested, and its reading back.

Owns the field names of the internal form. It writes; it does not decide what is valid.
`declaration` reads back what `meaning` wrote, so that a stored intent can be judged again.
"""

from typing import Any

from avow.core.canonical import text, written
from avow.core.declaration import Claims, Declaration, Runnable
from avow.core.effect import Effect
from avow.core.resource import Resource
from avow.core.untrusted import Untrusted
from avow.core.words import (
    TRUST,
    DataLoss,
    Environment,
    Means,
    Origin,
    Predicate,
    Scope,
    Truth,
)

_FLAG = {True: "true", False: "false"}


def meaning(value: Declaration) -> str:
    """Return what the digest covers, as RFC 8785 text.

    Written out by hand in the order of its keys: this is done for every declaration, and a
    general encoder takes four times as long. A law holds it to `canonical.encode`.
    """
    extras = f'"extras":{written(value.extras)},' if value.extras else ""
    runnable = f',"runnable":{_runnable(value.runnable)}' if value.runnable else ""
    return (
        f'{{"agent":{text(value.agent)},"claims":{_claims(value.claims)},'
        f'"dialect":{text(value.dialect)},"diligence":{_FLAG[value.keeps_diligence]},'
        f'"effects":[{",".join(map(_effect, value.effects))}],{extras}'
        f'"goal":{text(value.goal.raw)},"model":{_optional(value.model)}{runnable}}}'
    )


def declaration(value: dict[str, Any]) -> Declaration:
    """Return the declaration whose meaning was written; session and signature are not in it."""
    return Declaration(
        dialect=value["dialect"],
        agent=value["agent"],
        effects=tuple(_read_effect(effect) for effect in value["effects"]),
        claims=_read_claims(value["claims"]),
        goal=Untrusted(value["goal"]),
        model=value["model"],
        runnable=Runnable(**value.get("runnable", {})),
        keeps_diligence=value["diligence"],
        extras=value.get("extras", {}),
    )


def _effect(effect: Effect) -> str:
    resource = effect.resource
    place = ",".join(map(text, (resource.scheme, resource.authority, *resource.segments)))
    return (
        f'{{"environment":{_optional(effect.environment)},"means":"{effect.means}",'
        f'"origin":"{effect.origin}","predicate":"{effect.predicate}",'
        f'"resource":[{place}],"reversible":"{effect.reversible}"}}'
    )


def _read_effect(value: dict[str, Any]) -> Effect:
    scheme, authority, *segments = value["resource"]
    environment = value["environment"]
    return Effect(
        predicate=Predicate(value["predicate"]),
        means=Means(value["means"]),
        resource=Resource(scheme, authority, tuple(segments)),
        environment=None if environment is None else Environment(environment),
        reversible=Truth(value["reversible"]),
        origin=Origin(value["origin"]),
    )


def _claims(claims: Claims) -> str:
    return (
        f'{{"affects_backups":"{claims.affects_backups}",'
        f'"alternatives":{_texts(claims.alternatives)},'
        f'"assumed_safe":"{claims.assumed_safe}","data_loss":"{claims.data_loss}",'
        f'"downstream":{_texts(claims.downstream)},"evidence":{_texts(claims.evidence)},'
        f'"rollback_plan":"{claims.rollback_plan}","rows":{claims.rows},'
        f'"scope":"{claims.scope}","snapshot_id":{_optional(claims.snapshot_id)},'
        f'"source_environment":{_optional(claims.source_environment)},'
        f'"trust":"{claims.trust.word}","verified":"{claims.verified}"}}'
    )


def _runnable(runnable: Runnable) -> str:
    return (
        f'{{"command":{_optional(runnable.command)},"sql":{_optional(runnable.sql)},'
        f'"tool_call":{written(runnable.tool_call)}}}'
    )


def _optional(value: str | None) -> str:
    return "null" if value is None else text(value)


def _texts(values: tuple[str, ...]) -> str:
    return f"[{','.join(map(text, values))}]" if values else "[]"


def _read_claims(value: dict[str, Any]) -> Claims:
    source = value["source_environment"]
    return Claims(
        trust=TRUST[value["trust"]],
        verified=Truth(value["verified"]),
        evidence=tuple(value["evidence"]),
        assumed_safe=Truth(value["assumed_safe"]),
        alternatives=tuple(value["alternatives"]),
        rollback_plan=Truth(value["rollback_plan"]),
        snapshot_id=value["snapshot_id"],
        data_loss=DataLoss(value["data_loss"]),
        affects_backups=Truth(value["affects_backups"]),
        downstream=tuple(value["downstream"]),
        scope=Scope(value["scope"]),
        rows=value["rows"],
        source_environment=None if source is None else Environment(source),
    )
