"""The errors that a server tells of, as the exceptions that everything else here raises.

Owns the way from problem+json to `avow.core.errors`, by the code and its family. A code of a later
version is read by its status; what is no problem of Avow at all is none.
"""

from collections.abc import Callable
from typing import Any

from avow.clients.answers import UNREADABLE, Heard, member
from avow.core.codes import CODES, Family
from avow.core.errors import (
    AvowError,
    ConflictError,
    FaultError,
    MalformedError,
    Problem,
    RefusedError,
)

PROBLEM = "application/problem+json"
# For codes of a later version: the nearest one of the same status.
_FALLBACKS = {
    400: "declaration.unreadable",
    401: "auth.unknown",
    403: "auth.forbidden",
    404: "http.not_found",
    405: "http.method",
    409: "policy.superseded",
    410: "verdict.lapsed",
    412: "policy.superseded",
    422: "declaration.invalid",
    429: "rate.limited",
}


def refusal(heard: Heard) -> AvowError | None:
    """Return the error that a problem tells of, or None if it is none of ours."""
    if heard.kind != PROBLEM:
        return None
    try:
        told = member(heard.body)
        code, detail = told["code"], told["detail"]
        if not isinstance(code, str) or not isinstance(detail, str):
            return None
        if code not in CODES:
            detail = f"{detail} (`{code[:80]}`)"
            code = _FALLBACKS.get(heard.status, "fault.internal")
        return _ERRORS[CODES[code].family](code, detail, told, heard)
    except UNREADABLE:
        return None


def named(code: str) -> AvowError:
    """Return the error of a code that came without any words."""
    entry = CODES[code]
    return _ERRORS[entry.family](code, entry.meaning, {}, Heard(entry.status, PROBLEM, b""))


def retry_after_ms(heard: Heard) -> int | None:
    """Return how long the server asks to wait, or None if it does not say."""
    given = heard.retry_after
    is_number = given.isascii() and given.isdigit() and len(given) < 8  # noqa: PLR2004 - months
    return int(given) * 1000 if is_number else None


def _malformed(code: str, detail: str, told: dict[str, Any], _heard: Heard) -> AvowError:
    problems = [
        Problem(
            str(one["path"]),
            one["code"] if one["code"] in CODES else "declaration.invalid",
            str(one["message"]),
        )
        for one in told.get("problems", ())
    ]
    return MalformedError(code, problems or [Problem("", code, detail)])


def _refused(code: str, detail: str, _told: dict[str, Any], heard: Heard) -> AvowError:
    return RefusedError(code, detail, retry_after_ms=retry_after_ms(heard) or 0)


def _conflict(code: str, detail: str, _told: dict[str, Any], _heard: Heard) -> AvowError:
    return ConflictError(code, detail)


def _fault(code: str, _detail: str, told: dict[str, Any], _heard: Heard) -> AvowError:
    return FaultError(code, incident=str(told.get("incident", ""))[:80])


_ERRORS: dict[Family, Callable[[str, str, dict[str, Any], Heard], AvowError]] = {
    Family.MALFORMED: _malformed,
    Family.REFUSED: _refused,
    Family.CONFLICT: _conflict,
    Family.FAULT: _fault,
}
