"""From a record to a declaration: every name translated, every fill-in noted, nothing judged.

Clauses: IRL-2.06, IRL-2.12, IRL-2.13, IRL-2.16, IRL-2.21.
"""

import base64
from typing import Any

from pydantic import ValidationError

from avow.core import canonical, resource
from avow.core.declaration import Assumption, Claims, Declaration, Runnable
from avow.core.effect import PREDICATE_OF, Effect
from avow.core.errors import MalformedError, Problem
from avow.core.signing import Seal
from avow.core.untrusted import Untrusted
from avow.core.words import TRUST, DataLoss, Environment, Means, Scope, Truth
from avow.dialects.irl.document import Operation, Record, Signature

NAME = "irl"
_GROUPS = ("agent", "operation", "rationale", "consequences")
# A record that forgot its version still means to be one, and is told so.
_MARKS = frozenset({"irl_version", *_GROUPS})
_COMPUTED = ("risk", "verdict")
_UNSIGNED = frozenset({*_COMPUTED, "signature"})
# Tables, because calling an enumeration to look a member up costs ten times as much.
_MEANS = {means.value: means for means in Means}
_ENVIRONMENT = {environment.value: environment for environment in Environment}
_DATA_LOSS = {loss.value: loss for loss in DataLoss}
_TRUTH = {True: Truth.YES, False: Truth.NO, None: Truth.UNKNOWN}
_EXTENSION = "x_"
_KEY_SHOWN = 80

_IGNORED = {
    name: Assumption(name, "sent by the agent: discarded unread, the engine computes it")
    for name in _COMPUTED
}
_LOSS_ABSENT = Assumption("consequences.data_loss_risk", "not declared")
_SCOPE_UNKNOWN = Assumption("operation.scope", "unknown: read as permanent")

# pydantic's kinds of error that are not simply a wrong type.
_CODE = {
    "missing": "field.missing",
    "extra_forbidden": "field.unknown",
    "literal_error": "field.unknown_value",
    "string_too_short": "field.out_of_range",
    "string_too_long": "field.out_of_range",
    "string_pattern_mismatch": "field.out_of_range",
    "too_long": "field.out_of_range",
    "greater_than_equal": "field.out_of_range",
}
_MESSAGE = {
    "missing": "is required",
    "extra_forbidden": "is not a field of an intent record",
    "string_pattern_mismatch": "is blank",
    "bool_type": "expected true or false",
    "string_type": "expected a text",
    "int_type": "expected a whole number",
    "list_type": "expected a list",
    "model_type": "expected an object",
    "dict_type": "expected an object",
}


def recognises(value: Any) -> bool:
    """Return whether a JSON value means to be an intent record."""
    return isinstance(value, dict) and not _MARKS.isdisjoint(value)


def read(value: Any) -> Declaration:
    """Return the declaration that a record makes, or raise with every problem."""
    own = value
    extras: dict[str, Any] = {}
    try:
        record = Record.model_validate(value)
    except ValidationError:
        # Few records have fields of their own, so only those pay for taking them out.
        own, extras = _without_extensions(value)
        try:
            record = Record.model_validate(own)
        except ValidationError as error:
            raise MalformedError("declaration.invalid", _problems(error)) from None
    return _lowered(record, own, extras, value)


def _lowered(
    record: Record, own: dict[str, Any], extras: dict[str, Any], sent: dict[str, Any]
) -> Declaration:
    agent, operation, rationale = record.agent, record.operation, record.rationale
    ignored = tuple(name for name in _COMPUTED if name in own)
    assumptions = [_IGNORED[name] for name in ignored]
    return Declaration(
        dialect=NAME,
        agent=agent.id,
        session=agent.session_id,
        model=agent.model,
        effects=(_effect(operation, record),),
        claims=_claims(record, assumptions),
        goal=Untrusted(rationale.stated_goal),
        runnable=_runnable(operation),
        keeps_diligence=True,
        seal=None if record.signature is None else _seal(record.signature, sent),
        assumptions=tuple(assumptions),
        ignored=ignored,
        extras=extras,
    )


def _seal(signature: Signature, sent: dict[str, Any]) -> Seal:
    """Return the signature over the record as it was sent, without what is never signed."""
    whole = {key: value for key, value in sent.items() if key not in _UNSIGNED}
    return Seal(
        did=signature.did,
        id=signature.id,
        signed_ms=signature.signed_ms,
        value=base64.b64decode(signature.value),
        document=canonical.encode(whole),
    )


def _effect(operation: Operation, record: Record) -> Effect:
    means = _MEANS[operation.type]
    return Effect(
        PREDICATE_OF[means],
        means,
        resource.read(operation.target_resource),
        _ENVIRONMENT[operation.target_environment],
        _TRUTH[record.consequences.reversible],
    )


def _claims(record: Record, assumptions: list[Assumption]) -> Claims:
    operation, rationale, consequences = record.operation, record.rationale, record.consequences
    if operation.scope == "unknown":
        assumptions.append(_SCOPE_UNKNOWN)
    source = operation.source_environment
    return Claims(
        trust=TRUST[record.agent.trust_level],
        verified=_TRUTH[rationale.verified],
        evidence=tuple(rationale.evidence),
        assumed_safe=_TRUTH[rationale.assumed_safe],
        alternatives=tuple(rationale.alternatives_considered),
        rollback_plan=_TRUTH[consequences.rollback_plan],
        snapshot_id=consequences.snapshot_id,
        data_loss=_data_loss(record, assumptions),
        affects_backups=_TRUTH[consequences.affects_backups],
        downstream=tuple(consequences.downstream_services),
        scope=Scope.TEMPORARY if operation.scope == "temporary" else Scope.PERMANENT,
        rows=operation.estimated_rows_affected,
        source_environment=None if source is None else _ENVIRONMENT[source],
    )


def _data_loss(record: Record, assumptions: list[Assumption]) -> DataLoss:
    declared = record.consequences.data_loss_risk
    if declared is not None:
        return _DATA_LOSS[declared]
    if record.operation.type == "read":
        return DataLoss.NONE
    assumptions.append(_LOSS_ABSENT)
    return DataLoss.UNDECLARED


def _runnable(operation: Operation) -> Runnable:
    call = operation.tool_call
    if operation.command is None and operation.sql is None and call is None:
        return _NOTHING_TO_RUN
    return Runnable(
        command=operation.command,
        sql=operation.sql,
        tool_call=None if call is None else call.model_dump(),
    )


_NOTHING_TO_RUN = Runnable()


def _without_extensions(value: Any) -> tuple[Any, dict[str, Any]]:
    """Return the record without its `x_` fields, and those fields by path."""
    extras: dict[str, Any] = {}
    if not isinstance(value, dict):
        return value, extras
    own = _split(value, "", extras)
    for group in _GROUPS:
        inner = own.get(group)
        if isinstance(inner, dict):
            split = _split(inner, f"{group}.", extras)
            if split is not inner:
                own = {**own, group: split}
    return own, extras


def _split(value: dict[str, Any], prefix: str, extras: dict[str, Any]) -> dict[str, Any]:
    for key in value:
        if key.startswith(_EXTENSION):
            break
    else:
        return value
    extras.update({prefix + key: v for key, v in value.items() if key.startswith(_EXTENSION)})
    return {key: v for key, v in value.items() if not key.startswith(_EXTENSION)}


def _problems(error: ValidationError) -> list[Problem]:
    return [
        Problem(_path(found["loc"]), _CODE.get(found["type"], "field.wrong_type"), _told(found))
        for found in error.errors(include_url=False, include_input=False)
    ]


def _told(found: Any) -> str:
    message = _MESSAGE.get(found["type"])
    if message is None:
        text: str = found["msg"].replace("Input should be", "expected").replace("'", "`")
        message = text[:1].lower() + text[1:]
    return message


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part[:_KEY_SHOWN]}"
    return path.lstrip(".")
