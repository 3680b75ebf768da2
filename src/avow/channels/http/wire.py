"""The HTTP protocol of uvicorn, with head and body of an answer written at once.

uvicorn hands the head and the body to the socket one by one, which costs a second call of the
system and a second packet for every answer. What is written in one turn of the loop goes out
together here; nothing else is changed.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES_MAX = 64 * 1024


class Gathering:
    """A transport that writes what it was given in one turn of the loop at its end."""

    __slots__ = ("_loop", "_parts", "_transport")

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Let data wait for the end of this turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Write what waits, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts) if len(parts) > 1 else parts[0])


class GatheringProtocol(HttpToolsProtocol):
    """uvicorn's protocol over such a transport, with a bound on the size of a head."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._head_bytes = self._gathered = 0
        self._is_in_head = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._counted(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header."""
        self._counted(len(name) + len(value))
        super().on_header(name, value)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that does not end is cut off, for the parser would gather it whole."""
        super().data_received(data)
        if self._is_in_head:
            self._gathered += len(data)
            if self._gathered > HEAD_BYTES_MAX and not self.transport.is_closing():
                self.send_400_response("the head of the request is too large")

    def on_headers_complete(self) -> None:
        """Take note that the head has ended."""
        self._is_in_head = False
        super().on_headers_complete()

    def _counted(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > HEAD_BYTES_MAX:
            # The parser turns it into its own error, and uvicorn that into a 400.
            raise ValueError("the head of a request is too large")

    def connection_made(self, transport: Any) -> None:
        """Begin a connection."""
        self._head_bytes = self._gathered = 0
        self._is_in_head = True
        stand_in: Any = Gathering(transport, self.loop)
        super().connection_made(stand_in)
