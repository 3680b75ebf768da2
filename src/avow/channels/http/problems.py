"""Errors as problem+json: the only place where HTTP learns how an error looks.

A fault never tells its cause; what the caller wrote comes back escaped to ASCII, so that nothing in
it can pass for more than a text.
"""

import json
from typing import Any

from avow.core.codes import CODES
from avow.core.errors import AvowError, FaultError, MalformedError, RefusedError

MEDIA_TYPE = "application/problem+json"


def value(error: AvowError, trace_id: str) -> dict[str, Any]:
    """Return the body of an error."""
    body: dict[str, Any] = {
        "type": f"urn:avow:error:{error.code}",
        "title": CODES[error.code].meaning,
        "status": error.status,
        "detail": error.message,
        "code": error.code,
        "hint": error.hint,
        "problems": [],
        "trace_id": trace_id,
    }
    if isinstance(error, MalformedError):
        body["problems"] = [
            {"path": p.path, "code": p.code, "message": p.message, "hint": p.hint}
            for p in error.problems
        ]
    if isinstance(error, FaultError):
        body["incident"] = error.incident
    return body


def headers(error: AvowError) -> list[tuple[bytes, bytes]]:
    """Return the headers that belong to an error."""
    made = [(b"content-type", MEDIA_TYPE.encode("ascii"))]
    if error.status == 401:  # noqa: PLR2004 - unauthorised
        made.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, RefusedError) and error.retry_after_ms:
        seconds = -(-error.retry_after_ms // 1000)
        made.append((b"retry-after", str(seconds).encode("ascii")))
    return made


def body(error: AvowError, trace_id: str) -> bytes:
    """Return the bytes of an error's body."""
    return json.dumps(value(error, trace_id)).encode("ascii")
