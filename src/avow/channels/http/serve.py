"""Listening: the application on a socket, with uvicorn, until somebody stops it.

A stop lets requests under way finish, within a bounded time.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn
import uvloop

from avow.channels.http.wire import GatheringProtocol
from avow.core.errors import MalformedError, Problem

_STOP_S = 8
_BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Where to listen, and with which certificate."""

    host: str
    port: int
    certificate: str | None = None
    key: str | None = None


def serve(  # noqa: PLR0913 - what a server is, and what it tells
    application: Any,
    binding: Binding,
    listening: socket.socket,
    *,
    started: Callable[[str], None],
    stopping: Callable[[], None],
    beside: Callable[[], Awaitable[None]],
) -> None:
    """Listen until told to stop; `beside` runs meanwhile and is cancelled at the end."""
    config = uvicorn.Config(
        application,
        host=binding.host,
        port=binding.port,
        http=GatheringProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_STOP_S,
        ssl_certfile=binding.certificate,
        ssl_keyfile=binding.key,
    )
    uvloop.run(_run(_Server(config, started, stopping), listening, beside))


def bound(binding: Binding) -> socket.socket:
    """Return a socket at that address, or raise `MalformedError` if it cannot be had."""
    try:
        found = socket.getaddrinfo(binding.host, binding.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        reason = (error.strerror or "it cannot be had").lower()
        told = f"`{binding.host}:{binding.port}` cannot be listened on: {reason}"
        problem = Problem("http.port", "settings.invalid", told)
        raise MalformedError("settings.invalid", [problem]) from None
    return listening


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        started: Callable[[str], None],
        stopping: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._told = started
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop: whoever waits for news is told first."""
        self._stopping()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in an orderly way; uvicorn would raise the signal again and skip the rest."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.servers:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            scheme = "https" if self.config.ssl_certfile else "http"
            self._told(f"{scheme}://{shown}:{port}")


async def _run(
    server: _Server, listening: socket.socket, beside: Callable[[], Awaitable[None]]
) -> None:
    task = asyncio.ensure_future(beside())
    # One turn of the loop, so that what runs beside is in place before the first request.
    await asyncio.sleep(0)
    try:
        await server.serve(sockets=[listening])
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
