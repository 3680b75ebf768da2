"""The front of the HTTP door: what every request passes, and the hot addresses themselves.

Checks host and origin, gives each request a trace id, turns every error into problem+json, counts.
`evaluate` and `simulate` are answered here, as plain ASGI; all else goes to the FastAPI app behind.

Clauses: IRL-5.17, IRL-6.02, ICNLI-12.2.02, ICNLI-14.1.01.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from avow.channels.http import problems
from avow.core.errors import AvowError, FaultError, MalformedError, Problem, RefusedError
from avow.core.principal import Principal
from avow.core.words import Outcome
from avow.dialects.irl import render as irl
from avow.engine.declare import Recorded
from avow.engine.desk import utc
from avow.engine.service import Service
from avow.engine.telemetry import Level, Telemetry, where

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

STATUS = {
    Outcome.ALLOW.name: 200,
    Outcome.LOG_ALLOW.name: 200,
    Outcome.GATE.name: 202,
    Outcome.DENY.name: 403,
}
_OK = 200
_HOSTS_KEPT = 64
PUBLIC = frozenset({"/healthz", "/readyz", "/v1/conformance"})
_SINGLE = (b"host", b"authorization", b"idempotency-key", b"origin", b"content-length")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_TRACE = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_PORT = re.compile(r":[0-9]{1,5}$")
_SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_JSON = [(b"content-type", b"application/json"), *_SAFE]
_ROUTES = ("verdicts", "agents", "people", "journal", "events", "conformance")
Hot = Callable[["Front", "Asked"], Awaitable[tuple[int, bytes]]]


class Asked:
    """One request to a hot address."""

    __slots__ = ("headers", "receive", "trace_id")

    def __init__(self, headers: dict[bytes, bytes], receive: Receive, trace_id: str) -> None:
        self.headers = headers
        self.receive = receive
        self.trace_id = trace_id


class Front:
    """The ASGI application of a server."""

    def __init__(  # noqa: PLR0913 - what a server is configured by
        self,
        service: Service,
        behind: App,
        telemetry: Telemetry,
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        size_bytes_max: int = 256 * 1024,
    ) -> None:
        self._service = service
        self._behind = behind
        self._telemetry = telemetry
        self._hosts = LOOPBACK | {_bracketed(host.lower()) for host in hosts}
        self._known_hosts: set[bytes] = set()
        self._origins = frozenset(origins)
        self._size_max = size_bytes_max
        self._hot: dict[str, Hot] = {
            "/evaluate": Front._evaluate,
            "/v1/evaluate": Front._evaluate,
            "/v1/simulate": Front._simulate,
        }

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request; nothing but a lost connection escapes from here."""
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])
        trace_id, parent_id = _trace(headers)
        scope["avow.trace_id"] = trace_id
        path, sending = scope["path"], Sending(send, trace_id)
        try:
            if len(headers) != len(scope["headers"]):
                _check_single(scope["headers"])
            self._admit(headers)
            hot = self._hot.get(path)
            if hot is None:
                _check_path(path)
                if path not in PUBLIC:
                    # Before anything of the body is read.
                    await self.principal(headers, trace_id)
                await self._behind(scope, _bounded(receive, self._size_max), sending)
            else:
                _check_method(scope["method"], path)
                status, body = await hot(self, Asked(headers, receive, trace_id))
                await _answer(send, status, _JSON, body, trace_id)
        except AvowError as error:
            await self._refuse(send, error, trace_id)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - the outermost frame: a fault allows nothing
            # What fails behind the front was answered there; only what was not is answered here.
            if not sending.started:
                await self._refuse(send, self.fault(error, trace_id), trace_id)
        finally:
            took = time.perf_counter() - began
            route = _route(path)
            self._telemetry.observe("request_seconds", took, route)
            ended = time.time_ns()
            self._telemetry.span(
                f"http {route}", trace_id, parent_id, ended - int(took * 1e9), ended
            )

    def fault(self, error: BaseException, trace_id: str) -> FaultError:
        """Log an unforeseen error under an incident id and return the fault that hides it."""
        incident = f"inc_{secrets.token_hex(6)}"
        # Where it happened, but not the message: it may quote what an agent sent.
        self._telemetry.log(
            Level.ERROR,
            "fault",
            trace_id,
            incident=incident,
            kind=type(error).__name__,
            where=where(error),
        )
        return FaultError(incident=incident)

    def _admit(self, headers: dict[bytes, bytes]) -> None:
        """Refuse a request for another host or from another origin's page."""
        given = headers.get(b"host", b"")
        if given not in self._known_hosts:
            self._check_host(given)
        origin = headers.get(b"origin")
        if origin is None:
            return
        named = origin.decode("latin-1")
        own = named.partition("://")[2] == headers[b"host"].decode("latin-1")
        if not own and named not in self._origins:
            raise RefusedError("http.origin", f"`{named[:80]}` is not an origin of ours")

    def _check_host(self, given: bytes) -> None:
        host = _PORT.sub("", given.decode("latin-1").lower())
        if host not in self._hosts:
            raise RefusedError("http.host", f"this server does not answer for `{host[:80]}`")
        # Few spellings are in use; whoever sends endless ones is looked at each time.
        if len(self._known_hosts) < _HOSTS_KEPT:
            self._known_hosts.add(given)

    async def principal(self, headers: dict[bytes, bytes], trace_id: str) -> Principal:
        """Return who is asking, or raise."""
        key = _key(headers)
        try:
            known = self._service.roster.remembered(key) if key else None
            if known is None:
                known = await self._service.roster.principal(key)
                self._telemetry.count("authentications_total", "ok")
                self._telemetry.log(Level.INFO, "auth.accepted", trace_id, **_named(known))
        except RefusedError as error:
            how = error.code.removeprefix("auth.")
            self._telemetry.count("authentications_total", how)
            self._telemetry.log(Level.WARNING, "auth.refused", trace_id, code=error.code)
            raise
        return known

    async def _evaluate(self, asked: Asked) -> tuple[int, bytes]:
        principal = await self.principal(asked.headers, asked.trace_id)
        body = await self._body(asked)
        key = asked.headers.get(b"idempotency-key", b"").decode("latin-1")
        done = await self._service.declare(principal, body, channel="http", idempotency_key=key)
        kept = done.kept
        self._telemetry.count("verdicts_total", kept.outcome, "http", kept.dialect)
        # What was allowed stands in the journal; the log is for what somebody may have to look at.
        self._telemetry.log(
            Level.INFO if STATUS[kept.outcome] != _OK else Level.DEBUG,
            "verdict",
            asked.trace_id,
            verdict_id=kept.id,
            agent=kept.agent,
            channel="http",
            outcome=kept.outcome,
            position=kept.position,
        )
        return STATUS[kept.outcome], recorded_answer(done)

    async def _simulate(self, asked: Asked) -> tuple[int, bytes]:
        principal = await self.principal(asked.headers, asked.trace_id)
        body = await self._body(asked)
        intent, conclusion = await self._service.simulate(principal, body)
        shared = conclusion.shared_answer
        now = utc(self._service.clock.now_ms())
        answer = (
            f'{{"verdict_id":null,"timestamp":"{now}","x_digest":"{intent.digest}",'
            f'"journal":null,"x_simulated":true,{shared}'
        )
        return 200, answer.encode("ascii")

    async def _body(self, asked: Asked) -> bytes:
        """Return the body, read no further than the largest that is admitted."""
        message = await asked.receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            chunks, size = [body], len(body)
            while message.get("more_body") and size <= self._size_max:
                message = await asked.receive()
                if message["type"] == "http.disconnect":
                    raise ConnectionError
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
            body = b"".join(chunks)
        if len(body) > self._size_max:
            code = "declaration.too_large"
            told = f"more than {self._size_max} bytes"
            raise MalformedError(code, [Problem("", code, told)])
        return body

    async def _refuse(self, send: Send, error: AvowError, trace_id: str) -> None:
        self.told(error, trace_id)
        body = problems.body(error, trace_id)
        await _answer(send, error.status, [*problems.headers(error), *_SAFE], body, trace_id)

    def told(self, error: AvowError, trace_id: str) -> None:
        """Count and log an error that somebody is told of."""
        self._telemetry.count("refusals_total", error.code)
        if error.code == "rate.limited":
            self._telemetry.count("rate_limited_total")
        level = Level.ERROR if isinstance(error, FaultError) else Level.INFO
        self._telemetry.log(
            level, "request.refused", trace_id, code=error.code, status=error.status
        )


def recorded_answer(done: Recorded) -> bytes:
    """Return a recorded verdict in the words of its dialect."""
    kept = done.kept
    return irl.answer_text(
        done.conclusion.shared_answer,
        verdict_id=kept.id,
        timestamp=utc(kept.at_ms),
        digest=kept.intent,
        position=kept.position,
        hashed=done.entry_hash,
    )


async def _answer(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes, trace_id: str
) -> None:
    own = [
        (b"content-length", str(len(body)).encode("ascii")),
        (b"x-trace-id", trace_id.encode("ascii")),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers + own})
    await send({"type": "http.response.body", "body": body})


class Sending:
    """A `send` that adds our headers to whatever is answered behind the front."""

    __slots__ = ("_send", "_trace_id", "started")

    def __init__(self, send: Send, trace_id: str) -> None:
        self._send = send
        self._trace_id = trace_id
        self.started = False

    async def __call__(self, message: Message) -> None:
        """Send a message on."""
        if message["type"] == "http.response.start":
            self.started = True
            given = list(message.get("headers", []))
            known = {name.lower() for name, _ in given}
            safe = [header for header in _SAFE if header[0] not in known]
            trace = (b"x-trace-id", self._trace_id.encode("ascii"))
            message = {**message, "headers": [*given, *safe, trace]}
        await self._send(message)


def _bounded(receive: Receive, size_max: int) -> Receive:
    """Return a `receive` that gives no more of a body than is admitted."""
    left = size_max

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            code = "declaration.too_large"
            raise MalformedError(code, [Problem("", code, f"more than {size_max} bytes")])
        return message

    return bounded


def _check_path(path: str) -> None:
    if "\0" in path:
        raise RefusedError("http.not_found", "there is nothing at this address")


def _check_single(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a header twice whose readers could take one or the other."""
    names = [name for name, _ in headers]
    if any(names.count(name) > 1 for name in _SINGLE):
        told = "a header that may come once came twice"
        raise MalformedError("request.unreadable", [Problem("", "request.unreadable", told)])


def _check_method(method: str, path: str) -> None:
    if method != "POST":
        raise RefusedError("http.method", f"`{path}` takes POST")


def _bracketed(host: str) -> str:
    """Return a host as it stands in the header: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _trace(headers: dict[bytes, bytes]) -> tuple[str, str]:
    """Return the trace id the caller brought, or a fresh one, and the span it came from."""
    match = _TRACE.fullmatch(headers.get(b"traceparent", b""))
    if match is None or match[1] == b"0" * 32:
        return secrets.token_hex(16), ""
    return match[1].decode("ascii"), match[2].decode("ascii")


def _key(headers: dict[bytes, bytes]) -> str:
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _named(principal: Principal) -> dict[str, str]:
    role = " ".join(sorted(role.value for role in principal.roles))
    return {"agent" if principal.is_agent else "person": principal.id, "role": role}


def _route(path: str) -> str:
    """Return the closed name of an address, for metrics; no part of the path itself."""
    if path in {"/evaluate", "/v1/evaluate"}:
        return "evaluate"
    if path == "/v1/simulate":
        return "simulate"
    if path in {"/healthz", "/readyz"}:
        return "health"
    if path == "/metrics":
        return "metrics"
    part = path.removeprefix("/v1/").partition("/")[0]
    return part if part in _ROUTES else "other"
