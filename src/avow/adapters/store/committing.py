"""Committing: a batch of commands becomes one transaction, in two steps or in one.

`prepare` runs the commands and writes their rows; `commit` makes them durable. Between the
two nobody else may write. `attempt` does both, and again where the database lost the connection:
the chain itself tells whether a commit of unknown fate stood.
"""

import contextlib
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from avow.adapters.store import journal
from avow.adapters.store.connection import Connection, RetryableError, UnknownCommitError
from avow.adapters.store.journal import Head
from avow.adapters.store.work import Memory, StoreView, Work
from avow.core.errors import FaultError
from avow.core.journal import Entry
from avow.engine.ports import Command, Settle

ATTEMPTS = 4
_PAUSE_S = 0.05
_FOLD_MAX = 50_000
Waiting = tuple[Command[Any], Settle]
Answered = tuple[Settle, Any, BaseException | None]


class Store(Protocol):
    """A database that gives one writing transaction at a time."""

    def transaction(self, *, patient: bool = True) -> AbstractContextManager[Connection]:
        """Run the body in one transaction: committed at its end, undone if it raises.

        An impatient one raises `RetryableError` at once where somebody else writes.
        """
        ...

    def reader(self) -> AbstractContextManager[Connection]:
        """Give a connection that reads one consistent state and writes nothing."""
        ...


class Notary(Protocol):
    """Whoever anchors what was committed; see `avow.adapters.notary`."""

    def has_room(self, head: Head, coming: int) -> bool:
        """Return whether so many more commands leave the unanchored tail short enough."""
        ...

    def admit(self, head: Head, coming: int) -> None:
        """Make room for so many more commands, or raise if the anchor cannot be written."""
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

    def has_room(self, head: Head, coming: int) -> bool:
        """Have room for everything."""
        del head, coming
        return True

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


Watching = Callable[[Commit], None]


class UnwrittenError(Exception):
    """What waited could not be written, before any commit."""


@dataclass(slots=True)
class Prepared:
    """A transaction whose commands have run; it is to be committed, or it goes with an error."""

    transaction: AbstractContextManager[Connection]
    work: Work
    answers: list[Answered]
    began: float


class Committer:
    """Turns batches into transactions, one at a time; it has no thread of its own."""

    def __init__(self, store: Store, memory: Memory, notary: Notary | None = None) -> None:
        self._store = store
        self.memory = memory
        self.notary: Notary = NoNotary() if notary is None else notary
        self.watch: Watching = lambda _: None
        self.head = self._begun()

    def prepare(self, batch: list[Waiting], *, patient: bool = True) -> Prepared:
        """Run the commands of a batch in a transaction and write their rows."""
        began = time.perf_counter()
        transaction = self._store.transaction(patient=patient)
        connection = transaction.__enter__()
        try:
            work = self._work(connection)
            answers = [(settle, *_executed(command, work)) for command, settle in batch]
            _write(work)
        except BaseException as error:
            self.memory.pulse.back(0)
            transaction.__exit__(type(error), error, error.__traceback__)
            raise
        return Prepared(transaction, work, answers, began)

    def commit(self, prepared: Prepared) -> None:
        """Make it durable, or raise; in whatever thread. What is not committed never was."""
        try:
            prepared.transaction.__exit__(None, None, None)
        except BaseException:
            self.memory.pulse.back(0)
            raise

    def conclude(self, prepared: Prepared, attempts: int = 1) -> None:
        """Take note of a transaction that was committed."""
        work = prepared.work
        self.memory.pulse.settle()
        self.memory.conclusions.update(work.verdicts.fresh_said)
        if len(self.memory.conclusions) > _FOLD_MAX:
            self.memory.conclusions.clear()
        self.head = work.journal.head
        took = time.perf_counter() - prepared.began
        # It is committed: whatever fails from here on must not make it look as if it were not.
        with contextlib.suppress(Exception):
            self.notary.committed(self.head)
        with contextlib.suppress(Exception):
            self.watch(Commit(tuple(work.journal.entries), len(prepared.answers), took, attempts))

    def attempt(self, batch: list[Waiting]) -> list[Answered]:
        """Commit a batch and return its answers; where that fails everybody is told so."""
        try:
            self.notary.admit(self.head, len(batch))
            return self._committed(batch)
        except UnwrittenError:
            if len(batch) > 1:
                # Something in it cannot be written: found by trying one by one.
                return [answer for each in batch for answer in self.attempt([each])]
            return failed(batch, FaultError("store.unavailable"))
        except Exception as error:  # noqa: BLE001 - nothing was committed, so nobody may be told so
            return failed(batch, error)

    def _committed(self, batch: list[Waiting]) -> list[Answered]:
        for attempt in range(1, ATTEMPTS + 1):
            prepared = None
            try:
                prepared = self.prepare(batch)
                self.commit(prepared)
            except UnknownCommitError:
                if prepared is None or not self._stands(prepared.work):
                    if attempt == ATTEMPTS:
                        raise
                    continue
                # It stands after all, so what it counted counts.
                entries = prepared.work.journal.entries
                self.memory.pulse.fold(json.loads(entry.body) for entry in entries)
            except RetryableError:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(_PAUSE_S * attempt)
                continue
            self.conclude(prepared, attempt)
            return prepared.answers
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _begun(self) -> Head:
        """Read the head, and what the pulse must know of the time before."""
        with self._store.reader() as connection:
            view = StoreView(connection, self.memory)
            head = journal.head(connection, self.memory.tenant)
            self._fold(connection, max(0, head.position - _FOLD_MAX))
            for agent, means, opened_ms in view.breakers.listed():
                self.memory.pulse.opened(agent, means, at_ms=opened_ms)
        self.memory.pulse.settle()
        return head

    def _fold(self, connection: Connection, after: int) -> None:
        while found := journal.entries(connection, self.memory.tenant, after=after):
            self.memory.pulse.fold(json.loads(entry.body) for entry in found)
            after = found[-1].position
        # What others committed stands, whatever becomes of the transaction in which it was read.
        self.memory.pulse.settle()

    def _work(self, connection: Connection) -> Work:
        work = Work(connection, self.memory)
        before, now = self.head, work.journal.head
        if (before.position, before.hash) != (now.position, now.hash):
            self._check_grown(connection, before, now)
            # Another process wrote since: what it did is folded in before anybody looks.
            self._fold(connection, before.position)
            self.head = now
        return work

    def _check_grown(self, connection: Connection, before: Head, now: Head) -> None:
        """Raise if the journal is not the one we saw, grown: nothing is signed over another."""
        grown = now.position > before.position
        if not grown or (
            journal.hash_at(connection, self.memory.tenant, before.position) != before.hash
        ):
            raise FaultError("journal.rolled_back")

    def _stands(self, work: Work) -> bool:
        """Return whether a commit whose answer was lost is there: the chain holds its last hash."""
        if not work.journal.entries:
            # Nothing was written, so nothing can be missing.
            return True
        head = work.journal.head
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._store.reader() as connection:
                    now = journal.head(connection, self.memory.tenant)
                    if now.position < head.position:
                        return False
                    found = journal.hash_at(connection, self.memory.tenant, head.position)
                    return found == head.hash
            except FaultError:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(_PAUSE_S * attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")


def failed(batch: list[Waiting], error: Exception) -> list[Answered]:
    """Return the answers of a batch of which nothing was committed."""
    failure = error if isinstance(error, FaultError) else FaultError("store.unavailable")
    failure.__cause__ = error if failure is not error else error.__cause__
    return [(settle, None, failure) for _, settle in batch]


def _write(work: Work) -> None:
    """Write what waits; where that fails for good it is said apart, for nothing is committed."""
    try:
        work.finish()
    except RetryableError:
        raise
    except FaultError as error:
        raise UnwrittenError from error


def _executed(command: Command[Any], work: Work) -> tuple[Any, BaseException | None]:
    try:
        return work.run(command), None
    except (RetryableError, UnknownCommitError):
        raise
    except FaultError as error:
        if error.code.startswith("store."):
            # The store refused something: the transaction is in doubt, and whose fault it was is
            # found by trying one by one.
            raise UnwrittenError from error
        return None, error
    except Exception as error:  # noqa: BLE001 - it is undone and handed to the one who asked
        return None, error
