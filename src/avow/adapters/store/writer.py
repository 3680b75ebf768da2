"""The writer: commands from many callers, executed one after another, many of them in one commit.

Each command is a part of the transaction of its own: one that raises is undone and told so, and
its neighbours never notice. Nobody is answered before the commit returned; if the commit fails,
everybody in it is told that the store is unavailable.

On its own the writer does all of it in a thread. Attached to an event loop it runs the commands in
the loop and leaves only the commit, which waits for the disk, to the thread: two threads that both
run Python would take turns at every statement, and wait for each other each time.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from avow.adapters.store.committing import (
    Answered,
    Commit,
    Committer,
    Notary,
    Prepared,
    Store,
    Waiting,
    failed,
)
from avow.adapters.store.work import Memory, StoreView
from avow.core.errors import FaultError, RefusedError
from avow.engine.ports import Command, Settle
from avow.engine.pulse import Pulse

BATCH_MAX = 256
QUEUE_MAX = 20_000
_CROWD = 4
_GATHER_S = 0.001
T = TypeVar("T")
Errand = Callable[[], None]


@dataclass(slots=True)
class _Attached:
    """What the writer keeps while it works in an event loop."""

    loop: asyncio.AbstractEventLoop
    inline: bool
    waiting: list[Waiting]
    is_busy: bool = False


class Writer:
    """One writer over a store; the `Writing` and `Reading` of the engine's ports."""

    def __init__(self, store: Store, memory: Memory, notary: Notary | None = None) -> None:
        self._store = store
        self._committer = Committer(store, memory, notary)
        self._waiting: queue.SimpleQueue[Waiting | Errand | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._attached: _Attached | None = None
        self._thread = threading.Thread(target=self._run, name="avow-writer", daemon=True)
        self._thread.start()

    @property
    def size(self) -> int:
        """Return how many entries the journal had at the last look."""
        return self._committer.head.position

    @property
    def is_alive(self) -> bool:
        """Return whether commands are executed at all."""
        return self._thread.is_alive()

    @property
    def pulse(self) -> Pulse:
        """Return the pulse; only to be looked at from another thread, never changed."""
        return self._committer.memory.pulse

    def watch(self, told: Callable[[Commit], None]) -> None:
        """Tell somebody of every commit, in whatever thread it was concluded."""
        self._committer.watch = told

    def attach(self, loop: asyncio.AbstractEventLoop, *, inline: bool) -> None:
        """Work for an event loop from now on; only in its thread may commands be submitted.

        `inline` runs the commands in the loop itself: for a database in this process, whose
        statements take microseconds. Otherwise they run in the thread as before.
        """
        self._attached = _Attached(loop, inline, [])

    def detach(self) -> None:
        """Work in the thread again, once nothing waits any more."""
        attached, self._attached = self._attached, None
        if attached is not None:
            left, attached.waiting = attached.waiting, []
            for each in left:
                self._waiting.put(each)

    def submit(self, command: Command[Any], settle: Settle) -> None:
        """Queue a command; `settle` gets its answer after the commit, or the error."""
        attached = self._attached
        if attached is not None:
            self._submit_attached(attached, command, settle)
            return
        with self._lock:
            if self._closed:
                settle(None, FaultError("store.unavailable"))
            elif self._waiting.qsize() >= QUEUE_MAX:
                settle(None, _full())
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

        attached = self._attached
        if attached is None:
            self.submit(command, settle)
        else:
            attached.loop.call_soon_threadsafe(self.submit, command, settle)
        return future

    def call(self, command: Command[T], *, timeout_s: float = 60) -> T:
        """Run a command and wait for its answer; not in the thread of an attached loop."""
        return self.future(command).result(timeout_s)

    def anchor_now(self) -> None:
        """Have everything that was committed anchored now, as far as that is possible."""
        done = threading.Event()

        def errand() -> None:
            self._committer.notary.leave(self._committer.head)
            done.set()

        self._waiting.put(errand)
        done.wait()

    def read(self, query: Callable[[StoreView], T]) -> T:
        """Run a query on one consistent state and return its answer."""
        with self._store.reader() as connection:
            return query(StoreView(connection, self._committer.memory))

    def close(self) -> None:
        """Finish what is queued, anchor it and stop; later commands are refused."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        ended = False
        committer = self._committer
        while not ended:
            taken = self._taken(committer.notary.rest(committer.head))
            ended = None in taken
            # In the order they came: a transaction that is prepared goes before what waits.
            batch: list[Waiting] = []
            for each in taken:
                if isinstance(each, tuple):
                    batch.append(each)
                elif each is not None:
                    self._answer(batch)
                    each()
            self._answer(batch)
        committer.notary.leave(committer.head)

    def _answer(self, batch: list[Waiting]) -> None:
        """Commit a batch that waits, if there is one, and take it off the list."""
        if batch:
            _settle(self._committer.attempt(batch))
            batch.clear()

    def _taken(self, wait_s: float) -> "list[Waiting | Errand | None]":
        try:
            batch = [self._waiting.get(timeout=wait_s)]
        except queue.Empty:
            return []
        while len(batch) < BATCH_MAX and not self._waiting.empty():
            batch.append(self._waiting.get())
        return batch

    def _submit_attached(self, attached: _Attached, command: Command[Any], settle: Settle) -> None:
        if len(attached.waiting) >= QUEUE_MAX:
            settle(None, _full())
            return
        attached.waiting.append((command, settle))
        if not attached.is_busy:
            attached.is_busy = True
            # At the end of this turn of the loop: whoever else asks in it shares the commit.
            attached.loop.call_soon(self._begin, attached)

    def _begin(self, attached: _Attached) -> None:
        """Begin the next batch, in the loop."""
        if self._attached is not attached or not attached.waiting:
            # Detached meanwhile: what waited is the thread's now, and so is the connection.
            attached.is_busy = False
            return
        batch = attached.waiting[:BATCH_MAX]
        del attached.waiting[:BATCH_MAX]
        prepared = self._prepared(batch) if attached.inline else None
        if prepared is None:
            # Somebody else writes just now, or something is wrong: the thread can wait and retry.
            self._waiting.put(lambda: self._finish(attached, self._committer.attempt(batch)))
        else:
            self._waiting.put(lambda: self._finish(attached, self._concluded(batch, prepared)))

    def _prepared(self, batch: list[Waiting]) -> Prepared | None:
        committer = self._committer
        if not committer.notary.has_room(committer.head, len(batch)):
            # The anchor has to be written first, and the loop does not wait for a disk.
            return None
        try:
            return committer.prepare(batch, patient=False)
        except Exception:  # noqa: BLE001 - nothing was committed; the thread meets it again
            return None

    def _concluded(self, batch: list[Waiting], prepared: Prepared) -> list[Answered]:
        """Commit what was prepared, in the thread."""
        try:
            self._committer.commit(prepared)
        except Exception as error:  # noqa: BLE001 - nothing was committed, so nobody may be told so
            return failed(batch, error)
        self._committer.conclude(prepared)
        return prepared.answers

    def _finish(self, attached: _Attached, answers: list[Answered]) -> None:
        """Hand the answers to the loop, and have it begin the next batch."""

        def finish() -> None:
            _settle(answers)
            if not attached.waiting:
                attached.is_busy = False
            elif len(answers) < _CROWD:
                self._begin(attached)
            else:
                # Those who were just answered may have more to say: a commit costs the same for
                # many, so it is worth the moment.
                attached.loop.call_later(_GATHER_S, self._begin, attached)

        try:
            attached.loop.call_soon_threadsafe(finish)
        except RuntimeError:
            # The loop is closed, so nobody waits in it any more; what was committed stays.
            _settle(answers)


def _full() -> RefusedError:
    return RefusedError("queue.full", "too many declarations wait", retry_after_ms=1000)


def _settle(answers: list[Answered]) -> None:
    for settle, answer, error in answers:
        settle(answer, error)
