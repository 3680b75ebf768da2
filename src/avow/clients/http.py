"""The HTTP client, blocking and asynchronous: one description of calls, two thin shells.

Owns the connection: one address, one key, no redirects, no proxy from the environment, so that the
key goes nowhere but to that address. Everything else, what is sent, when it is repeated and how the
answer is read, stands once in `calls`, `conversation`, `streams` and `answers`.

>>> with Client("http://127.0.0.1:8800", key) as client:
...     answer = client.evaluate(record)
...     if answer.allowed: ...

The key appears in no representation, message or log of ours.

Clauses: IRL-6.02.
"""

import asyncio
import contextlib
import functools
import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, get_args

import httpx

from avow.clients.answers import Heard
from avow.clients.calls import Calls, check_address
from avow.clients.conversation import Call, Lost, Pause, converse
from avow.clients.signing import SigningKey
from avow.clients.streams import Piece, Stream

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT_S = 10.0
F = TypeVar("F", bound=Callable[..., Any])
_FOREIGN = (httpx.HTTPError, httpx.InvalidURL)
_BROKEN = (httpx.NetworkError, httpx.RemoteProtocolError)


class _Shell:
    """What both clients have in common: an address, a key, and the description of the calls."""

    def __init__(
        self, url: str, key: str, signing_key: SigningKey | None, timeout_s: float
    ) -> None:
        check_address(url, key)
        self._calls = Calls(signing_key)
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r}, key=********)"

    def _built(self, http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
        headers = dict(call.headers)
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        return http.build_request(
            call.method,
            call.path,
            content=call.body,
            headers=headers,
            params=call.query or None,
            timeout=self._timeout_s + call.wait_s,
        )


def _asked(
    make: Callable[Concatenate[Calls, P], Call[T]],
) -> Callable[Concatenate["Client", P], T]:
    """Turn the description of a call into a method that puts it and waits."""

    def ask(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._ask(make(self._calls, *args, **kwargs))

    return _shown(ask, make)


def _awaited(
    make: Callable[Concatenate[Calls, P], Call[T]],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    """Turn the description of a call into a method that puts it and is awaited."""

    async def ask(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._ask(make(self._calls, *args, **kwargs))

    return _shown(ask, make)


def _followed(
    make: Callable[Concatenate[Calls, P], Stream[T]],
) -> Callable[Concatenate["Client", P], Iterator[T]]:
    """Turn the description of a stream into a method that yields its items."""

    def follow(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._follow(make(self._calls, *args, **kwargs))

    return _shown(follow, make)


def _followed_async(
    make: Callable[Concatenate[Calls, P], Stream[T]],
) -> Callable[Concatenate["AsyncClient", P], AsyncIterator[T]]:
    """Turn the description of a stream into a method that yields its items asynchronously."""

    def follow(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._follow(make(self._calls, *args, **kwargs))

    return _shown(follow, make)


def _shown(method: F, make: Callable[..., Any]) -> F:
    """Name a method as its call, and let `help` show what the method itself returns."""
    functools.update_wrapper(method, make)
    signature = inspect.signature(make)
    answer = get_args(signature.return_annotation) or (Iterator,)
    vars(method)["__signature__"] = signature.replace(return_annotation=answer[0])
    return method


class Client(_Shell):
    """A blocking client of one server, under one key; close it, or use it in a `with` block.

    Errors are those of `avow.core.errors`; a DENY is a value. `timeout_s` bounds connecting and
    each silence of the server. With a `signing_key` every record is signed. `transport` is for
    certificates and proxies of your own, and is handed to httpx.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        signing_key: SigningKey | None = None,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, signing_key, timeout_s)
        self._http = httpx.Client(transport=transport, **_options(self._url, key))

    evaluate = _asked(Calls.evaluate)
    simulate = _asked(Calls.simulate)
    verdict = _asked(Calls.verdict)
    redeem = _asked(Calls.redeem)
    outcome = _asked(Calls.outcome)
    agents = _asked(Calls.agents)
    add_agent = _asked(Calls.add_agent)
    revoke_agent = _asked(Calls.revoke_agent)
    people = _asked(Calls.people)
    add_person = _asked(Calls.add_person)
    revoke_person = _asked(Calls.revoke_person)
    breakers = _asked(Calls.breakers)
    close_breaker = _asked(Calls.close_breaker)
    journal = _asked(Calls.journal)
    export_journal = _followed(Calls.export_journal)
    events = _followed(Calls.events)
    checkpoint = _asked(Calls.checkpoint)
    keys = _asked(Calls.keys)
    receipt = _asked(Calls.receipt)
    consistency = _asked(Calls.consistency)
    policy = _asked(Calls.policy)
    conformance = _asked(Calls.conformance)
    ready = _asked(Calls.ready)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, call: Call[T]) -> T:
        talk = converse(call)
        step = next(talk)
        try:
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = talk.send(None)
                else:
                    step = talk.send(self._send(step))
        except StopIteration as ended:
            answer: T = ended.value
        return answer

    def _send(self, call: Call[Any]) -> Heard | Lost:
        try:
            got = self._http.send(self._built(self._http, call))
        except _FOREIGN as error:
            return _lost(error)
        return _heard(got, got.content)

    def _follow(self, stream: Stream[T]) -> Iterator[T]:
        while (call := stream.call()) is not None:
            with contextlib.closing(self._pieces(call)) as pieces:
                for piece in pieces:
                    yield from stream.heard(piece)
            time.sleep(stream.pause_s())

    def _pieces(self, call: Call[Any]) -> Generator[Piece, None, None]:
        try:
            got = self._http.send(self._built(self._http, call), stream=True)
            with contextlib.closing(got):
                if _streams(got, call):
                    yield from got.iter_bytes()
                else:
                    yield _heard(got, got.read())
        except _FOREIGN as error:
            lost = _lost(error)
        else:
            return
        yield lost


class AsyncClient(_Shell):
    """An asynchronous client of one server; as `Client`, with `async with` and `await`."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        signing_key: SigningKey | None = None,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, signing_key, timeout_s)
        self._http = httpx.AsyncClient(transport=transport, **_options(self._url, key))

    evaluate = _awaited(Calls.evaluate)
    simulate = _awaited(Calls.simulate)
    verdict = _awaited(Calls.verdict)
    redeem = _awaited(Calls.redeem)
    outcome = _awaited(Calls.outcome)
    agents = _awaited(Calls.agents)
    add_agent = _awaited(Calls.add_agent)
    revoke_agent = _awaited(Calls.revoke_agent)
    people = _awaited(Calls.people)
    add_person = _awaited(Calls.add_person)
    revoke_person = _awaited(Calls.revoke_person)
    breakers = _awaited(Calls.breakers)
    close_breaker = _awaited(Calls.close_breaker)
    journal = _awaited(Calls.journal)
    export_journal = _followed_async(Calls.export_journal)
    events = _followed_async(Calls.events)
    checkpoint = _awaited(Calls.checkpoint)
    keys = _awaited(Calls.keys)
    receipt = _awaited(Calls.receipt)
    consistency = _awaited(Calls.consistency)
    policy = _awaited(Calls.policy)
    conformance = _awaited(Calls.conformance)
    ready = _awaited(Calls.ready)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, call: Call[T]) -> T:
        talk = converse(call)
        step = next(talk)
        try:
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = talk.send(None)
                else:
                    step = talk.send(await self._send(step))
        except StopIteration as ended:
            answer: T = ended.value
        return answer

    async def _send(self, call: Call[Any]) -> Heard | Lost:
        try:
            got = await self._http.send(self._built(self._http, call))
        except _FOREIGN as error:
            return _lost(error)
        return _heard(got, got.content)

    async def _follow(self, stream: Stream[T]) -> AsyncIterator[T]:
        while (call := stream.call()) is not None:
            async with contextlib.aclosing(self._pieces(call)) as pieces:
                async for piece in pieces:
                    for one in stream.heard(piece):
                        yield one
            await asyncio.sleep(stream.pause_s())

    async def _pieces(self, call: Call[Any]) -> AsyncGenerator[Piece, None]:
        try:
            got = await self._http.send(self._built(self._http, call), stream=True)
            async with contextlib.aclosing(got):
                if _streams(got, call):
                    async for chunk in got.aiter_bytes():
                        yield chunk
                else:
                    yield _heard(got, await got.aread())
        except _FOREIGN as error:
            lost = _lost(error)
        else:
            return
        yield lost


def _options(url: str, key: str) -> dict[str, Any]:
    """Return what keeps the key with its address: no redirects, nothing from the environment."""
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"},
        "follow_redirects": False,
        "trust_env": False,
    }


def _streams(got: httpx.Response, call: Call[Any]) -> bool:
    return got.status_code in call.statuses and _kind(got) == call.kind


def _heard(got: httpx.Response, body: bytes) -> Heard:
    return Heard(got.status_code, _kind(got), body, got.headers.get("retry-after", ""))


def _kind(got: httpx.Response) -> str:
    kind: str = got.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _lost(error: Exception) -> Lost:
    """Return what a reader may know of a failure; its own text could quote what was sent.

    Who waited until the time was up is not kept waiting again.
    """
    if isinstance(error, httpx.TimeoutException):
        return Lost("the server was silent for too long")
    return Lost("the connection failed or broke off", again=isinstance(error, _BROKEN))
