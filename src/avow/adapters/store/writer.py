"""The writer: commands from many callers, executed one after another, many of them in one commit.

Each command is a part of the transaction of its own: one that raises is undone and told so, and
its neighbours never notice. Nobody is answered before the commit returned; if the commit fails,
everybody in it is told that the store is unavailable. After a failed commit nothing is known about
the disk, so nothing is retried here.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from avow.adapters.store.connection import Connection
from avow.adapters.store.journal import JournalAppender
from avow.adapters.store.registry import AgentRepository, VerdictRepository
from avow.core.errors import FaultError

BATCH_MAX = 256


class Store(Protocol):
    """A database that gives one writing transaction at a time."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Run the body in one transaction: committed at its end, undone if it raises."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """What a command may use inside the transaction; the `Transaction` of the engine's ports."""

    connection: Connection
    journal: JournalAppender
    agents: AgentRepository
    verdicts: VerdictRepository

    def now_ms(self) -> int:
        """Return the time of the database's own clock, in milliseconds."""
        return int(self.connection.rows(self.connection.CLOCK)[0][0])


Command = Callable[[Work], Any]


class Writer:
    """One thread that commits for everybody."""

    def __init__(self, store: Store, *, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._waiting: queue.SimpleQueue[tuple[Command, Future[Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="avow-writer", daemon=True)
        self._thread.start()

    def submit(self, command: Command) -> "Future[Any]":
        """Queue a command; its future is done after the commit, or raises."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                future.set_exception(FaultError("store.unavailable"))
            else:
                self._waiting.put((command, future))
        return future

    def close(self) -> None:
        """Finish what is queued and stop; later commands are refused."""
        with self._lock:
            self._closed = True
            self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < BATCH_MAX and not self._waiting.empty():
                batch.append(self._waiting.get())
            # Whoever gave up before the commit began is left out; afterwards nobody can give up,
            # and an answer to a cancelled caller would end this thread for everybody.
            self._commit([e for e in batch if e and e[1].set_running_or_notify_cancel()])
            if None in batch:
                return

    def _work(self, connection: Connection) -> Work:
        return Work(
            connection,
            JournalAppender(connection, self._tenant),
            AgentRepository(connection, self._tenant),
            VerdictRepository(connection, self._tenant),
        )

    def _commit(self, batch: "list[tuple[Command, Future[Any]]]") -> None:
        answers: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            with self._store.transaction() as connection:
                work = self._work(connection)
                for command, future in batch:
                    answers.append((future, *_executed(command, work)))
                work.journal.flush()
        except Exception as error:  # noqa: BLE001 - nothing was committed, so nobody may be told so
            failure = error if isinstance(error, FaultError) else FaultError("store.unavailable")
            answers = [(future, None, failure) for _, future in batch]
        for future, answer, failed in answers:
            if failed is None:
                future.set_result(answer)
            else:
                future.set_exception(failed)


def _executed(command: Command, work: Work) -> tuple[Any, BaseException | None]:
    try:
        with work.journal.part():
            return command(work), None
    except FaultError:
        # The store itself failed: the whole transaction is in doubt.
        raise
    except Exception as error:  # noqa: BLE001 - it is undone and handed to the one who asked
        return None, error
