"""Log lines: one JSON object each, written by a thread of their own.

A caller leaves its line in a bounded queue and goes on; filtering, masking and writing happen in
the thread. A full queue drops the newest line, a target that blocks holds only the thread, one
that raises costs the lines of that write; all three are counted, and the log itself says so once
it is written again. Lines are pure ASCII: nothing in a value can begin a line or steer a terminal.

Not promised: that a line arrives, nor that the last ones do if the process is killed.
"""

import json
import logging
import os
import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from avow.engine.ports import Clock
from avow.engine.telemetry import Level, line, where

WAITING_MAX = 10_000
# So many lines share one write; a blocked target holds no more than these beside the queue.
WRITE_MAX = 500
# How long the first line of a write waits for company; waking a thread for each costs more.
GATHER_S = 0.02
CLOSE_S = 1.0
BRIDGED = ("avow", "uvicorn.error", "opentelemetry")

# Writes some of the bytes and returns how many, as `os.write` and unbuffered files do.
Write = Callable[[bytes], int | None]


# A line as its caller left it: when, how loud, what, in which trace, and its fields.
Said = tuple[int, Level, str, str, dict[str, object]]


class Logs:
    """JSON lines to one target; no call raises or waits."""

    def __init__(
        self,
        write: Write,
        *,
        clock: Clock,
        lost: Callable[[int], None],
        least: Level = Level.INFO,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        self._write = write
        self._now_ms = clock.now_ms
        self._lost = lost
        self.least = least
        self._waiting_max = waiting_max
        # Its `put` is one step that neither waits nor can be entered twice, not even by a signal.
        self._waiting: queue.SimpleQueue[Said | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        # Reentrant: a signal or a finaliser may log in the middle of a loss.
        self._lock = threading.RLock()
        self._held = 0
        self._untold = 0
        self._torn = self._ended = self._given_up = False
        self._thread = threading.Thread(target=self._run, name="avow-log", daemon=True)
        self._thread.start()

    def log(self, level: Level, event: str, /, trace_id: str = "", **fields: object) -> None:
        """Leave one line to be written."""
        try:
            if level < self.least:
                return
            if self._waiting.qsize() >= self._waiting_max or self._closing.is_set():
                self.lose(1)
                return
            self._waiting.put((self._now_ms(), level, event, trace_id, fields))
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self.lose(1)

    def close(self) -> None:
        """Write what waits, for a second at most; what is left then is lost and counted."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._waiting.put(None)
        self._thread.join(CLOSE_S)
        self._given_up = True
        # The sentinel is no line.
        left = self._held + self._waiting.qsize() - (not self._ended)
        self.lose(left)

    def lose(self, count: int) -> None:
        """Count lines that could not be told."""
        with self._lock:
            self._untold += count
        if count:
            self._lost(count)

    def _run(self) -> None:
        while not self._ended:
            said = [self._waiting.get()]
            if self._waiting.qsize() < WRITE_MAX:
                self._closing.wait(GATHER_S)
            while len(said) < WRITE_MAX and not self._waiting.empty():
                said.append(self._waiting.get())
            self._held = len(said) - said.count(None)
            self._ended = None in said
            if not self._given_up:
                self._tell(b"".join(self._rendered(each) for each in said if each))

    def _tell(self, lines: bytes) -> None:
        """Write some lines; if that fails, they are lost together."""
        try:
            self._write_all(b"\n" * self._torn + lines)
            self._torn = False
        except Exception:  # noqa: BLE001 - telemetry fails soft
            # Nobody knows how much of it was written: the next write begins on a line of its own.
            self._torn = True
            held, self._held = self._held, 0
            self.lose(0 if self._given_up else held)
        else:
            self._held = 0
            self._own_up()

    def _own_up(self) -> None:
        """Say in the log how many lines of it are missing, now that it is written again."""
        with self._lock:
            untold, self._untold = self._untold, 0
        if untold:
            fields: dict[str, object] = {"part": "log", "count": untold}
            said = (self._now_ms(), Level.WARNING, "telemetry.lost", "", fields)
            try:
                self._write_all(self._rendered(said))
            except Exception:  # noqa: BLE001 - telemetry fails soft
                self._torn = True
                with self._lock:
                    self._untold += untold

    def _write_all(self, data: bytes) -> None:
        while data:
            written = self._write(data)
            if not written:
                raise BlockingIOError
            data = data[written:]

    def _rendered(self, said: Said) -> bytes:
        try:
            at = datetime.fromtimestamp(said[0] / 1000, UTC).isoformat(timespec="milliseconds")
            told: dict[str, object] = {"at": at.replace("+00:00", "Z")}
            told |= line(*said[1:])
            return json.dumps(told).encode("ascii") + b"\n"
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._held -= 1
            self.lose(1)
            return b""


class Bridge(logging.Handler):
    """What libraries say through Python's own logging, as lines of the event `log`.

    Of an exception only its class and the places it came through are told, never its text.
    """

    def __init__(self, logs: Logs, *, trace_id: Callable[[], str] = str) -> None:
        super().__init__()
        self._logs = logs
        self._trace_id = trace_id
        self._before: list[tuple[logging.Logger, bool, int]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Leave one record to be written."""
        try:
            fields: dict[str, object] = {"logger": record.name, "message": record.getMessage()}
            error = record.exc_info[1] if record.exc_info else None
            if error is not None:
                fields |= {"kind": type(error).__name__, "where": where(error)}
            self._logs.log(_level(record.levelno), "log", self._trace_id(), **fields)
        except Exception:  # noqa: BLE001 - telemetry fails soft
            self._logs.lose(1)

    def attach(self, names: tuple[str, ...] = BRIDGED) -> None:
        """Take over these loggers: what they say comes out here and nowhere else."""
        for name in names:
            logger = logging.getLogger(name)
            self._before.append((logger, logger.propagate, logger.level))
            logger.propagate = False
            logger.setLevel(self._logs.least)
            logger.addHandler(self)

    def detach(self) -> None:
        """Give the loggers back as they were."""
        for logger, propagate, level in self._before:
            logger.removeHandler(self)
            logger.propagate = propagate
            logger.setLevel(level)
        self._before.clear()


def standard_error(data: bytes) -> int:
    """Write to the standard error of this process, without a buffer between."""
    return os.write(2, data)


def _level(number: int) -> Level:
    """Return the level a number of Python's logging falls into."""
    return max((level for level in Level if level <= number), default=Level.DEBUG)
