"""The conversation with a server: what is asked, when it is asked again, what counts as answered.

Owns the call as a value and the rules of repeating. It sends nothing and sleeps nowhere: it says
what to do next and is told what came of it, so that a blocking and an asynchronous client hold the
very same conversation. Whatever goes wrong, nothing is allowed: an answer is read whole, or it is
an error.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from avow.clients import answers, refusals
from avow.clients.answers import JSON, Heard
from avow.core.errors import FaultError

T = TypeVar("T")
UNAVAILABLE, _TOO_FAST = 503, 429
_OK = frozenset({200})
# Two more tries, and the pauses before them; longer waits are the caller's to choose.
_PAUSES_S = (0.1, 0.5)
TRIES = 1 + len(_PAUSES_S)
_RETRY_AFTER_MS_MAX = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One question to a server, and how its answer is read; `tries` says how often it is put."""

    path: str
    read: Callable[[Heard], T]
    method: str = "GET"
    body: bytes | None = field(default=None, repr=False)
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    statuses: frozenset[int] = _OK
    kind: str = JSON
    wait_s: float = 0.0
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """What a conversation asks for between two tries."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came; `again` tells whether the connection was lost, which may be tried again."""

    how: str
    again: bool = False


def converse(call: Call[T]) -> Generator[Call[T] | Pause, Heard | Lost | None, T]:
    """Put a call, ask again where that is safe, and return what was answered or raise.

    Yields what to do next, a call to be sent or a pause, and is sent what came of it.
    """
    heard = yield call
    for pause_s in _PAUSES_S[: call.tries - 1]:
        wait_s = _wait_s(heard, pause_s)
        if wait_s is None:
            break
        yield Pause(wait_s)
        heard = yield call
    return answered(call, heard)


def answered(call: Call[T], heard: Heard | Lost | None) -> T:
    """Return the answer to a call, or raise the error it tells of."""
    if not isinstance(heard, Heard):
        raise no_answer(heard.how if heard else "nothing was sent")
    if heard.status in call.statuses and heard.kind == call.kind:
        try:
            return call.read(heard)
        except answers.UNREADABLE:
            pass  # raised below, so that the error does not carry the bytes along
        raise no_answer("what came back does not read as an answer")
    raise refusals.refusal(heard) or no_answer(f"status {heard.status} without an answer of Avow")


def no_answer(how: str) -> FaultError:
    """Return the fault that nothing was answered; `how` tells a reader, and holds no secret."""
    error = FaultError("client.no_answer")
    error.add_note(how)
    return error


def _wait_s(heard: Heard | Lost | None, pause_s: float) -> float | None:
    """Return how long to wait before the same is asked again, or None if it is not."""
    if isinstance(heard, Lost):
        return pause_s if heard.again else None
    if heard is None or heard.status not in (UNAVAILABLE, _TOO_FAST):
        return None
    asked_ms = refusals.retry_after_ms(heard)
    if asked_ms is None:
        return pause_s if heard.status == UNAVAILABLE else None
    return asked_ms / 1000 if asked_ms <= _RETRY_AFTER_MS_MAX else None
