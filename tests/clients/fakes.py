"""Both clients behind one face, and a server that answers what it is told to."""

import asyncio
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import avow

KEY = "avow_" + "5ec2e7" * 6


class Blocking:
    """The asynchronous client with the methods of the blocking one: one set of cases drives both."""

    def __init__(self, *arguments, **options):
        self._runner = asyncio.Runner()
        self.client = avow.AsyncClient(*arguments, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._runner is not None:
            self._runner.run(self.client.close())
            self._runner.close()
            self._runner = None

    def __repr__(self):
        return repr(self.client)

    def __getattr__(self, name):
        def call(*arguments, **options):
            made = getattr(self.client, name)(*arguments, **options)
            if hasattr(made, "__anext__"):
                return self._items(made)
            return self._runner.run(made)

        return call

    def _items(self, made):
        async def step():
            return await anext(made, StopIteration)

        try:
            while (item := self._runner.run(step())) is not StopIteration:
                yield item
        finally:
            self._runner.run(made.aclose())


KINDS = {"blocking": avow.Client, "asynchronous": Blocking}


class Reply(NamedTuple):
    """What the fake server does once: answer, or drop the connection after part of an answer."""

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    missing: int = 0
    drop: bool = False
    hold: bool = False


class Seen(NamedTuple):
    """What the fake server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Fake:
    """A server that plays replies one after the other, the last one for ever."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen: list[Seen] = []
        self.go_on = threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self):
                with contextlib.suppress(ConnectionError):
                    super().handle_one_request()

            def answer(self):
                fake.answer(self)

            do_GET = do_POST = do_DELETE = answer  # noqa: N815 - the names http.server looks for

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.seen.append(Seen(handler.command, handler.path, dict(handler.headers), body))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        handler.close_connection = True
        if reply.hold:
            self.go_on.wait(20)
        if reply.drop:
            return
        handler.send_response(reply.status)
        if reply.kind:
            handler.send_header("Content-Type", reply.kind)
        for name, value in reply.headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(reply.body) + reply.missing))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(reply.body)


ANSWER: dict[str, Any] = {
    "verdict_id": "ver_1",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "x_digest": "d" * 64,
    "journal": {"position": 7, "hash": "sha256:" + "a" * 64},
    "decision": "ALLOW",
    "risk": {"score": 0, "level": "low", "reasons": [], "computed_by": "irl-v0.1"},
    "policy_triggered": "POL-010: risk-matrix",
    "reason": "read in staging",
    "requires_human": False,
    "findings": [],
}


def answer(status=200, **changed):
    """Return the reply of a verdict, with some members changed."""
    return Reply(status, json.dumps(ANSWER | changed).encode())


def problem(status, code, detail="told", **more):
    """Return the reply of an error."""
    headers = tuple(more.pop("headers", {}).items())
    body = {"code": code, "detail": detail, "problems": [], "status": status} | more
    return Reply(status, json.dumps(body).encode(), "application/problem+json", headers)
