"""The HTTP application: the front, and behind it everything that is not hot, as FastAPI routes.

Both are described in one OpenAPI document.
"""

import json
from collections.abc import Iterable
from importlib import metadata
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from avow.channels.http import journal as journal_routes
from avow.channels.http import problems, routes, shapes
from avow.channels.http.front import Front
from avow.channels.http.routes import House
from avow.core.errors import AvowError, MalformedError, Problem, RefusedError
from avow.core.principal import Principal
from avow.dialects.irl import document

_TITLE = "Avow"
_SUMMARY = "Agents declare before they act; Avow judges what they declare."
# The framework's kinds of error that are not simply a wrong type, with our own words.
_KINDS = {
    "missing": ("field.missing", "is required"),
    "extra_forbidden": ("field.unknown", "is not a field of this address"),
    "literal_error": ("field.unknown_value", "is not one of the values there are"),
    "string_too_long": ("field.out_of_range", "is too long"),
    "string_too_short": ("field.out_of_range", "is too short"),
    "too_long": ("field.out_of_range", "has too many entries"),
    "greater_than_equal": ("field.out_of_range", "is too small"),
    "less_than_equal": ("field.out_of_range", "is too large"),
    "json_invalid": ("declaration.not_json", "is not JSON"),
}
_WRONG_TYPE = ("field.wrong_type", "has the wrong type; /openapi.json has every shape")


def build(
    house: House,
    *,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    size_bytes_max: int,
) -> Front:
    """Return the application of one server."""
    behind = FastAPI(
        title=_TITLE, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    front = Front(
        house.service,
        behind,
        house.telemetry,
        hosts=hosts,
        origins=origins,
        size_bytes_max=size_bytes_max,
    )

    async def who(asked: Request) -> Principal:
        # Looked up anew: a stream asks again while it lasts, and who was revoked is told so.
        headers = dict(asked.scope["headers"])
        return await front.principal(headers, asked.scope["avow.trace_id"])

    for make in (
        routes.verdicts,
        routes.agents,
        routes.people,
        routes.breakers,
        routes.rules,
        routes.health,
        journal_routes.journal,
        journal_routes.proofs,
        journal_routes.events,
    ):
        behind.include_router(make(house, who))

    @behind.get("/openapi.json", include_in_schema=False)
    async def openapi(asked: Request) -> dict[str, Any]:
        await who(asked)
        return describe(behind)

    _handle(behind, front)
    return front


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, hot addresses included."""
    made = get_openapi(
        title=_TITLE,
        version=metadata.version("avow"),
        summary=_SUMMARY,
        routes=app.routes,
    )
    schemas = made.setdefault("components", {}).setdefault("schemas", {})
    record = _placed(document.schema())
    schemas |= record.pop("$defs", {})
    schemas["Record"] = record
    schemas["Problem"] = shapes.Problem.model_json_schema(
        ref_template="#/components/schemas/{model}"
    )
    schemas |= schemas["Problem"].pop("$defs", {})
    made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"key": []}]
    for path, summary in _HOT.items():
        made["paths"][path] = {"post": _operation(path, summary)}
    made["paths"] = dict(sorted(made["paths"].items()))
    return made


def _placed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose references point to where OpenAPI keeps schemas."""
    text = json.dumps(schema).replace('"#/$defs/', '"#/components/schemas/')
    moved: dict[str, Any] = json.loads(text)
    return moved


_HOT = {
    "/evaluate": "Judge a record and journal the verdict (the address of the IRL specification)",
    "/v1/evaluate": "Judge a record and journal the verdict",
    "/v1/simulate": "Judge a record as it would be judged now, and write nothing",
}


def _operation(path: str, summary: str) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    verdict = {"application/json": {"schema": {"type": "object"}}}
    answers = {"200": {"description": "allowed, or allowed and logged", "content": verdict}}
    if not path.endswith("simulate"):
        answers["202"] = {"description": "a human is asked", "content": verdict}
        answers["403"] = {"description": "denied; or refused, as a problem", "content": verdict}
    for status, told in {
        "400": "the bytes are not one JSON document",
        "401": "no key, or not one of ours",
        "409": "a repetition that does not fit",
        "422": "the document does not have its shape",
        "429": "faster than allowed",
        "503": "the journal cannot be written; nothing was allowed",
    }.items():
        answers[status] = {"description": told, "content": problem}
    schema = {"$ref": "#/components/schemas/Record"}
    return {
        "summary": summary,
        "tags": ["declare"],
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "maxLength": 200},
            }
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": answers,
    }


def _handle(app: FastAPI, front: Front) -> None:
    """Turn everything that can go wrong behind the front into our own errors."""

    def answer(asked: Request, error: AvowError) -> Response:
        trace_id = asked.scope["avow.trace_id"]
        front.told(error, trace_id)
        headers = {name.decode(): value.decode() for name, value in problems.headers(error)}
        return Response(problems.body(error, trace_id), status_code=error.status, headers=headers)

    @app.exception_handler(AvowError)
    async def ours(asked: Request, error: AvowError) -> Response:
        return answer(asked, error)

    @app.exception_handler(RequestValidationError)
    async def malformed(asked: Request, error: RequestValidationError) -> Response:
        found = [
            Problem(
                ".".join(str(part) for part in one["loc"][1:])[:200],
                *_KINDS.get(one["type"], _WRONG_TYPE),
            )
            for one in error.errors()
        ]
        return answer(asked, MalformedError("request.invalid", found))

    @app.exception_handler(HTTPException)
    async def framework(asked: Request, error: HTTPException) -> Response:
        path = asked.url.path[:80]
        match error.status_code:
            case 405:
                return answer(asked, RefusedError("http.method", f"not a method of `{path}`"))
            case 404:
                return answer(asked, RefusedError("http.not_found", f"nothing at `{path}`"))
            case _:
                problem = Problem("", "request.unreadable", "the request cannot be read")
                return answer(asked, MalformedError("request.unreadable", [problem]))

    @app.exception_handler(Exception)
    async def unforeseen(asked: Request, error: Exception) -> Response:
        return answer(asked, front.fault(error, asked.scope["avow.trace_id"]))
