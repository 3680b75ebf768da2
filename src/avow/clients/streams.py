"""Answers without a known end: the export of a journal, and the entries as they are written.

Owns how pieces become lines and lines become items, and where a stream that broke is taken up
again. Lines end with a line feed and with nothing else: a body may hold any other line break of
Unicode. Like `conversation` it sends nothing itself.
"""

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from avow.clients import answers, refusals
from avow.clients.answers import TEXT, Heard
from avow.clients.conversation import UNAVAILABLE, Call, Lost, answered, no_answer

T_co = TypeVar("T_co", covariant=True)
Piece = bytes | Heard | Lost
EVENTS = "text/event-stream"
# The server gives a sign of life every five seconds.
SILENCE_S = 15.0
_EXPORT = b"avow-journal-export-1 "
_RESUME_S = (0.1, 0.5, 1.0, 2.0, 2.0)
_POSITION_DIGITS = 16
# A call to which nothing is an answer, so that whatever was heard instead of a stream is raised.
_UNANSWERABLE: Call[None] = Call(path="", statuses=frozenset(), read=lambda _: None)


class Stream(Protocol, Generic[T_co]):
    """What a shell needs in order to drive a stream."""

    def call(self) -> Call[None] | None:
        """Return what to ask for next, or None at the end."""
        ...

    def heard(self, piece: Piece) -> Iterator[T_co]:
        """Yield the items that a piece completes, or raise."""
        ...

    def pause_s(self) -> float:
        """Return how long to wait before the next call, or raise if there should be none."""
        ...


class Export:
    """The lines of an export, with their line feeds: all of them, or an error."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines = 0
        self._asked = False

    def call(self) -> Call[None] | None:
        """Return the one call there is; once it was answered, see that nothing is missing."""
        if not self._asked:
            self._asked = True
            return Call(path="/v1/journal/export", kind=TEXT, read=lambda _: None)
        if self._rest or not self._lines:
            raise no_answer("the export broke off")
        return None

    def heard(self, piece: Piece) -> Iterator[bytes]:
        """Yield the lines that a piece completes."""
        if not isinstance(piece, bytes):
            answered(_UNANSWERABLE, piece)
        else:
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                if not self._lines and not line.startswith(_EXPORT):
                    raise no_answer("what came back is not an export")
                self._lines += 1
                yield line + b"\n"

    def pause_s(self) -> float:
        """Return that there is nothing to wait for."""
        return 0.0


class Follow:
    """Entries as they are written, with their positions; a stream that drops is taken up again."""

    def __init__(self, after: int) -> None:
        self._position = after
        self._rest = b""
        self._fields: dict[str, str] = {}
        self._failures = 0

    def call(self) -> Call[None] | None:
        """Return the call for everything behind the last entry that was seen."""
        self._rest, self._fields = b"", {}
        headers = {"Last-Event-ID": str(self._position), "Accept": EVENTS}
        return Call(
            path="/v1/events",
            headers=headers,
            kind=EVENTS,
            read=lambda _: None,
            wait_s=SILENCE_S,
        )

    def heard(self, piece: Piece) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the entries that a piece completes."""
        if isinstance(piece, Lost) or (isinstance(piece, Heard) and piece.status == UNAVAILABLE):
            return
        if isinstance(piece, Heard):
            answered(_UNANSWERABLE, piece)
        else:
            self._failures = 0
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                yield from self._line(line.removesuffix(b"\r").decode("utf-8", "replace"))

    def pause_s(self) -> float:
        """Return how long to wait before the stream is taken up, or raise after too many times."""
        self._failures += 1
        if self._failures > len(_RESUME_S):
            raise no_answer("the stream of events broke off and could not be taken up again")
        return _RESUME_S[self._failures - 1]

    def _line(self, line: str) -> Iterator[tuple[int, dict[str, Any]]]:
        name, _, value = line.partition(":")
        if line:
            self._fields[name] = value.removeprefix(" ")
            return
        told, self._fields = self._fields, {}
        kind = told.get("event")
        if kind == "closed":
            raise _closed(told.get("data", ""))
        if kind == "entry":
            position, entry = _entry(told, self._position)
            self._position = position
            yield position, entry


def _entry(told: dict[str, str], behind: int) -> tuple[int, dict[str, Any]]:
    number = told.get("id", "")
    is_position = number.isascii() and number.isdigit() and len(number) <= _POSITION_DIGITS
    if is_position and int(number) > behind:
        try:
            return int(number), answers.member(told.get("data", "").encode("utf-8"))
        except answers.UNREADABLE:
            pass
    raise no_answer("an event is not an entry of a journal")


def _closed(data: str) -> Exception:
    """Return the error for which the server ended the stream."""
    try:
        return refusals.named(answers.member(data.encode("utf-8"))["code"])
    except answers.UNREADABLE:
        return no_answer("the server ended the stream of events")
