"""The writer: commands from many callers, executed one after another, many of them in one commit.

Each command is a part of the transaction of its own: one that raises is undone and told so, and
its neighbours never notice. Nobody is answered before the commit returned; if the commit fails,
everybody in it is told that the store is unavailable. Where the database lost the connection, the
whole batch runs again, a few times: the chain itself tells whether a commit of unknown fate stood.
"""

import json
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from avow.adapters.store import journal
from avow.adapters.store.connection import Connection, RetryableError, UnknownCommitError
from avow.adapters.store.journal import Head
from avow.adapters.store.work import Memory, StoreView, Work
from avow.core.errors import FaultError, RefusedError
from avow.core.journal import Entry
from avow.engine.ports import Command, Settle
from avow.engine.pulse import Pulse

BATCH_MAX = 256
QUEUE_MAX = 20_000
ATTEMPTS = 4
_PAUSE_S = 0.05
_FOLD_MAX = 50_000
T = TypeVar("T")


class Store(Protocol):
    """A database that gives one writing transaction at a time."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Run the body in one transaction: committed at its end, undone if it raises."""
        ...

    def reader(self) -> AbstractContextManager[Connection]:
        """Give a connection that reads one consistent state and writes nothing."""
        ...


class Notary(Protocol):
    """Whoever anchors what was committed; see `avow.adapters.notary`."""

    def admit(self, head: Head, coming: int) -> None:
        """Raise if so many more entries would leave too long a tail unanchored."""
        ...

    def committed(self, head: Head) -> None:
        """Take note of a commit; must not raise."""
        ...

    def rest(self, head: Head) -> float:
        """Anchor what is due, and return how many seconds may pass until the next look."""
        ...

    def leave(self, head: Head) -> None:
        """Anchor what is left, at the end; must not raise."""
        ...


class NoNotary:
    """Anchors nothing: for tools that only read or that run for a moment."""

    def admit(self, head: Head, coming: int) -> None:
        """Admit everything."""

    def committed(self, head: Head) -> None:
        """Do nothing."""

    def rest(self, head: Head) -> float:
        """Be never due."""
        del head
        return 3600.0

    def leave(self, head: Head) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit held, for whoever watches: entries, commands, how long it took."""

    entries: tuple[Entry, ...]
    commands: int
    seconds: float
    attempts: int


class _UnwrittenError(Exception):
    """What waited could not be written, before any commit."""


Answered = tuple[Settle, Any, BaseException | None]


class Writer:
    """One thread that commits for everybody; the `Writing` and `Reading` of the engine's ports.

    `deliver` runs the answers of a whole batch, in this thread unless told otherwise: a server sets
    it so that its event loop is woken once for all of them.
    """

    def __init__(self, store: Store, memory: Memory, notary: Notary | None = None) -> None:
        self._store = store
        self._memory = memory
        self._notary: Notary = NoNotary() if notary is None else notary
        self.deliver: Callable[[Callable[[], None]], object] = lambda run: run()
        self.watch: Callable[[Commit], None] = lambda _: None
        self._waiting: queue.SimpleQueue[tuple[Command[Any], Settle] | None] = queue.SimpleQueue()
        # Stands for no command: what is done between commits on demand.
        self._errand: Command[Any] = lambda _: None
        self._lock = threading.Lock()
        self._closed = False
        self._head = self._begun()
        self._thread = threading.Thread(target=self._run, name="avow-writer", daemon=True)
        self._thread.start()

    @property
    def size(self) -> int:
        """Return how many entries the journal had at the last look."""
        return self._head.position

    @property
    def pulse(self) -> Pulse:
        """Return the pulse; only to be looked at from another thread, never changed."""
        return self._memory.pulse

    def submit(self, command: Command[Any], settle: Settle) -> None:
        """Queue a command; `settle` gets its answer after the commit, or the error."""
        with self._lock:
            if self._closed:
                settle(None, FaultError("store.unavailable"))
            elif self._waiting.qsize() >= QUEUE_MAX:
                settle(None, RefusedError("queue.full", "too many declarations wait"))
            else:
                self._waiting.put((command, settle))

    def future(self, command: Command[T]) -> "Future[T]":
        """Queue a command and return what will hold its answer; it is executed in any case."""
        future: Future[T] = Future()

        def settle(answer: Any, error: BaseException | None) -> None:
            # Who gave up meanwhile is not answered, and must not end this thread.
            if not future.set_running_or_notify_cancel():
                return
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)

        self.submit(command, settle)
        return future

    def call(self, command: Command[T], *, timeout_s: float = 60) -> T:
        """Run a command and wait for its answer."""
        return self.future(command).result(timeout_s)

    def anchor_now(self) -> None:
        """Have everything that was committed anchored now, as far as that is possible."""
        self.call(self._errand)

    def read(self, query: Callable[[StoreView], T]) -> T:
        """Run a query on one consistent state and return its answer."""
        with self._store.reader() as connection:
            return query(StoreView(connection, self._memory))

    def close(self) -> None:
        """Finish what is queued, anchor it and stop; later commands are refused."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _begun(self) -> Head:
        """Read the head, and what the pulse must know of the time before."""
        with self._store.reader() as connection:
            view = StoreView(connection, self._memory)
            head = journal.head(connection, self._memory.tenant)
            self._fold(connection, max(0, head.position - _FOLD_MAX))
            for agent, means, opened_ms in view.breakers.listed():
                self._memory.pulse.opened(agent, means, at_ms=opened_ms)
        return head

    def _fold(self, connection: Connection, after: int) -> None:
        while found := journal.entries(connection, self._memory.tenant, after=after):
            self._memory.pulse.fold(json.loads(entry.body) for entry in found)
            after = found[-1].position

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = self._taken(self._notary.rest(self._head))
            ended = None in batch
            waiting = [each for each in batch if each is not None]
            commands = [each for each in waiting if each[0] is not self._errand]
            if commands:
                self._answer(commands)
            for command, settle in waiting:
                if command is self._errand:
                    self._notary.leave(self._head)
                    settle(None, None)
        self._notary.leave(self._head)

    def _taken(self, wait_s: float) -> list[tuple[Command[Any], Settle] | None]:
        try:
            batch = [self._waiting.get(timeout=wait_s)]
        except queue.Empty:
            return []
        while len(batch) < BATCH_MAX and not self._waiting.empty():
            batch.append(self._waiting.get())
        return batch

    def _answer(self, batch: list[tuple[Command[Any], Settle]]) -> None:
        answers = self._attempted(batch)

        def settle_all() -> None:
            for settle, answer, failed in answers:
                settle(answer, failed)

        self.deliver(settle_all)

    def _attempted(self, batch: list[tuple[Command[Any], Settle]]) -> list[Answered]:
        try:
            self._notary.admit(self._head, len(batch))
            return self._committed(batch)
        except _UnwrittenError:
            if len(batch) > 1:
                # Something in it cannot be written: found by trying one by one.
                return [answer for each in batch for answer in self._attempted([each])]
            return [(settle, None, FaultError("store.unavailable")) for _, settle in batch]
        except Exception as error:  # noqa: BLE001 - nothing was committed, so nobody may be told so
            failure = error if isinstance(error, FaultError) else FaultError("store.unavailable")
            failure.__cause__ = error if failure is not error else error.__cause__
            return [(settle, None, failure) for _, settle in batch]

    def _committed(self, batch: list[tuple[Command[Any], Settle]]) -> list[Answered]:
        for attempt in range(1, ATTEMPTS + 1):
            work, began = None, time.perf_counter()
            try:
                with self._store.transaction() as connection:
                    work = self._work(connection)
                    answers = [(settle, *_executed(command, work)) for command, settle in batch]
                    _written(work)
            except UnknownCommitError:
                if work is None or not self._stands(work):
                    if attempt == ATTEMPTS:
                        raise
                    continue
            except RetryableError:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(_PAUSE_S * attempt)
                continue
            self._concluded(
                work,
                Commit(
                    tuple(work.journal.entries), len(batch), time.perf_counter() - began, attempt
                ),
            )
            return answers
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _work(self, connection: Connection) -> Work:
        work = Work(connection, self._memory)
        if work.journal.head.position != self._head.position:
            # Another process wrote since: what it did is folded in before anybody looks.
            self._fold(connection, self._head.position)
            self._head = work.journal.head
        return work

    def _concluded(self, work: Work, commit: Commit) -> None:
        self._memory.conclusions.update(work.verdicts.fresh_said)
        if len(self._memory.conclusions) > _FOLD_MAX:
            self._memory.conclusions.clear()
        self._head = work.journal.head
        self._notary.committed(self._head)
        self.watch(commit)

    def _stands(self, work: Work) -> bool:
        """Return whether a commit whose answer was lost is there: the chain holds its last hash."""
        if not work.journal.entries:
            # Nothing was written, so nothing can be missing.
            return True
        head = work.journal.head
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._store.reader() as connection:
                    now = journal.head(connection, self._memory.tenant)
                    if now.position < head.position:
                        return False
                    found = journal.hash_at(connection, self._memory.tenant, head.position)
                    return found == head.hash
            except FaultError:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(_PAUSE_S * attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")


def _written(work: Work) -> None:
    """Write what waits; where that fails for good it is said apart, for nothing is committed."""
    try:
        work.finish()
    except RetryableError:
        raise
    except FaultError as error:
        raise _UnwrittenError from error


def _executed(command: Command[Any], work: Work) -> tuple[Any, BaseException | None]:
    try:
        return work.run(command), None
    except FaultError as error:
        if error.code.startswith("store."):
            # The store itself failed: the whole transaction is in doubt.
            raise
        return None, error
    except Exception as error:  # noqa: BLE001 - it is undone and handed to the one who asked
        return None, error
