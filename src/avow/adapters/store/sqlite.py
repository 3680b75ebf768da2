"""SQLite through apsw: one file, one writer, durable when it says so.

WAL with synchronous FULL: a commit that returned is on the disk. One connection writes; readers
have their own and never block it. A library with the WAL-reset fault (before 3.51.3) is refused.
After an error of the disk the writing connection is not used again: what it believes to be clean
may never have been written. The next transaction begins on a fresh one.
"""

import contextlib
import functools
import graphlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from avow.adapters.store import migration
from avow.adapters.store.connection import (
    RetryableError,
    Row,
    Table,
    committed,
    named,
    translated,
)
from avow.adapters.store.wakeups import Watch
from avow.core.errors import FaultError

VERSION_LEAST = 3_051_003
FILE = "avow.sqlite"
TYPES = {"bytes": "BLOB"}
_BUSY_MS = 5_000
_WATCH_S = 0.25
# What is erased is overwritten, not only forgotten.
_SETTINGS = ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON")
# Pages of one step of a copy: 4 MiB, so that progress shows and an interrupt is noticed.
_STEP_PAGES = 1_024
_IN_THE_WAY = (apsw.BusyError, apsw.LockedError)
_UNTRUSTED = (apsw.IOError, apsw.FullError, apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError)
_READING, _WRITING = apsw.SQLITE_OPEN_READONLY, apsw.SQLITE_OPEN_READWRITE
_CREATING = _WRITING | apsw.SQLITE_OPEN_CREATE


def library_version() -> int:
    """Return the version of the SQLite library in use, as it numbers itself."""
    return apsw.SQLITE_VERSION_NUMBER


class SqliteConnection:
    """An apsw connection behind the methods of a `Connection`."""

    def __init__(self, raw: apsw.Connection) -> None:
        self._raw = raw

    def now_ms(self) -> int:
        """Return the time: the machine's own, which is what SQLite itself goes by."""
        return time.time_ns() // 1_000_000

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        # Written out and not as `translated`: these run a dozen times in every transaction.
        try:
            return list(self._raw.execute(sql, values))
        except apsw.Error as error:
            raise self._failed(error) from error

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        try:
            self._raw.execute(sql, values)
            return self._raw.changes()
        except apsw.Error as error:
            raise self._failed(error) from error

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert many rows at once."""
        try:
            self._raw.executemany(_inserting(table, tuple(columns)), rows)
        except apsw.Error as error:
            raise self._failed(error) from error

    def announce(self) -> None:
        """Do nothing: whoever watches sees the commit itself."""

    def tables(self) -> list[Table]:
        """Return the tables there are, each behind those it refers to."""
        columns = self.rows(
            "SELECT m.name, c.name, c.pk FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
            " WHERE m.type = 'table' AND m.name NOT GLOB 'sqlite_*' ORDER BY m.name, c.cid"
        )
        behind: dict[str, set[str]] = {table: set() for table, _, _ in columns}
        for table, parent in self.rows(
            'SELECT m.name, f."table" FROM sqlite_master AS m,'
            " pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'"
        ):
            behind[table] |= {parent} - {table}
        return [
            Table(
                table,
                tuple(name for owner, name, _ in columns if owner == table),
                tuple(n for _, n in sorted((k, n) for o, n, k in columns if o == table and k)),
            )
            for table in graphlib.TopologicalSorter(behind).static_order()
        ]

    def size(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(self.rows(f"SELECT count(*) FROM {named(table)}")[0][0])  # noqa: S608 - our own name

    def _failed(self, error: apsw.Error) -> FaultError:
        return _fault(error)


class SqliteWriter(SqliteConnection):
    """The connection that writes; it is replaced when it cannot be trusted any more."""

    def __init__(self, opened: Callable[[], apsw.Connection]) -> None:
        super().__init__(opened())
        self._opened = opened
        self._is_trusted = True
        self._is_begun = False
        self.wait_ms = _BUSY_MS

    def begin(self) -> None:
        """Begin, as the only one who writes."""
        if not self._is_trusted:
            # The new one first: while any connection is open, nobody replays the log of commits,
            # and a commit that failed half-way cannot come back from it.
            fresh = self._opened()
            self._raw.close(True)  # noqa: FBT003 - apsw takes it by position: close whatever happens
            self._raw, self._is_trusted = fresh, True
        with translated(apsw.Error, self._failed):
            self._raw.set_busy_timeout(self.wait_ms)
        self.change("BEGIN IMMEDIATE")
        self._is_begun = True

    def commit(self) -> None:
        """Commit; an error means that nobody sees it, and the connection may be replaced.

        Not promised: if the disk failed to make it durable and the process dies before the next
        commit, SQLite may find it in the log all the same. Nobody was told that it happened.
        """
        self.change("COMMIT")
        self._is_begun = False

    def rollback(self) -> None:
        """Undo what is open."""
        self._is_begun = False
        with contextlib.suppress(FaultError), translated(apsw.Error, self._failed):
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
            return
        self._is_trusted = False

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        self._check()
        return super().change(sql, *values)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert many rows at once."""
        self._check()
        super().insert(table, columns, rows)

    def close(self) -> None:
        """Close the connection for good."""
        self._raw.close()

    def _check(self) -> None:
        # SQLite undoes a transaction by itself when the disk fails. Whoever went on after that
        # would commit every further statement on its own.
        try:
            is_lost = self._is_begun and not self._raw.in_transaction
        except apsw.Error as error:
            raise self._failed(error) from error
        if is_lost:
            raise FaultError("store.unavailable")

    def _failed(self, error: apsw.Error) -> FaultError:
        if isinstance(error, _UNTRUSTED):
            self._is_trusted = False
        return super()._failed(error)


class SqliteStore:
    """A folder with one database in it."""

    def __init__(self, folder: Path, *, busy_ms: int = _BUSY_MS, name: str = FILE) -> None:
        if library_version() < VERSION_LEAST:
            raise FaultError("store.incompatible")
        try:
            # What agents declare is nobody else's on the machine.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FaultError("store.unavailable") from error
        self._path = folder / name
        self._busy_ms = busy_ms
        # Made here and never later: a file that vanished must not come back empty.
        _opened(self._path, _CREATING, busy_ms).close()
        self._writer = SqliteWriter(self._opened_for_writing)
        try:
            with self.transaction() as connection:
                migration.apply(connection, migration.load("sqlite", TYPES))
        except FaultError:
            self.close()
            raise

    def transaction(
        self, *, patient: bool = True
    ) -> contextlib.AbstractContextManager[SqliteConnection]:
        """Run the body in one transaction: committed at its end, undone if it raises.

        An impatient one raises `RetryableError` at once where another process writes.
        """
        self._writer.wait_ms = self._busy_ms if patient else 0
        return committed(self._writer)

    @contextlib.contextmanager
    def reader(self) -> Iterator[SqliteConnection]:
        """Give a connection that reads one consistent state and writes nothing."""
        with contextlib.closing(_opened(self._path, _READING, self._busy_ms)) as raw:
            reading = SqliteConnection(raw)
            reading.change("BEGIN")
            yield reading

    def watch(self, tell: Callable[[], None]) -> Watch:
        """Call `tell` from another thread soon after anybody committed anything."""
        return Watch(self._listening, tell)

    def copy(self, path: Path, progress: Callable[[int, int], None]) -> None:
        """Write one consistent state into an empty file while others write; progress in pages.

        Not durable yet, and not checked: see `seal`.
        """
        with (
            contextlib.closing(_opened(self._path, _READING, self._busy_ms)) as source,
            contextlib.closing(_opened(path, _WRITING, self._busy_ms)) as target,
            translated(apsw.Error, _fault),
        ):
            target.execute("PRAGMA synchronous = OFF")
            # A reading transaction keeps the state: otherwise each commit starts the copy anew,
            # and under steady writing it would never end.
            source.execute("BEGIN").execute("SELECT count(*) FROM sqlite_master").fetchall()
            with target.backup("main", source, "main") as copying:
                while not copying.done:
                    copying.step(_STEP_PAGES)
                    progress(copying.page_count - copying.remaining, copying.page_count)

    def close(self) -> None:
        """Close the writing connection."""
        self._writer.close()

    def _opened_for_writing(self) -> apsw.Connection:
        raw = _opened(self._path, _WRITING, self._busy_ms)
        try:
            _set_up(SqliteConnection(raw))
        except FaultError:
            raw.close()
            raise
        return raw

    @contextlib.contextmanager
    def _listening(self) -> Iterator[Callable[[threading.Event], bool]]:
        with contextlib.closing(_opened(self._path, _READING, self._busy_ms)) as raw:
            connection = SqliteConnection(raw)
            # It changes with every commit of any other connection, of this process or another.
            seen = connection.rows("PRAGMA data_version")

            def heard(ended: threading.Event) -> bool:
                nonlocal seen
                ended.wait(_WATCH_S)
                before, seen = seen, connection.rows("PRAGMA data_version")
                return seen != before

            yield heard


@contextlib.contextmanager
def file_reader(path: Path) -> Iterator[SqliteConnection]:
    """Give a connection that reads a file which is nobody's store; it must be whole."""
    with contextlib.closing(_opened(path, _READING, _BUSY_MS)) as raw:
        connection = SqliteConnection(raw)
        if connection.rows("PRAGMA integrity_check") != [("ok",)]:
            raise FaultError("store.unavailable")
        connection.change("BEGIN")
        yield connection


def seal(path: Path) -> None:
    """Make a database that nobody uses one file, complete in itself; it must be whole."""
    with contextlib.closing(_opened(path, _WRITING, _BUSY_MS)) as raw:
        connection = SqliteConnection(raw)
        is_single = connection.rows("PRAGMA journal_mode = DELETE") == [("delete",)]
        if not is_single or connection.rows("PRAGMA quick_check") != [("ok",)]:
            raise FaultError("store.unavailable")


def _opened(path: Path, flags: int, busy_ms: int) -> apsw.Connection:
    with translated(apsw.Error, _fault):
        raw = apsw.Connection(str(path), flags=flags)
        raw.set_busy_timeout(busy_ms)
        return raw


def _set_up(connection: SqliteConnection) -> None:
    # Where that fails, for example on a bad disk, SQLite says so only by its answer.
    if connection.rows("PRAGMA journal_mode = WAL") != [("wal",)]:
        raise FaultError("store.unavailable")
    for setting in _SETTINGS:
        connection.change(f"PRAGMA {setting}")


@functools.cache
def _inserting(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {named(table)} ({named(*columns)}) VALUES ({marks})"  # noqa: S608 - our own names


def _fault(error: apsw.Error) -> FaultError:
    kind = RetryableError if isinstance(error, _IN_THE_WAY) else FaultError
    return kind("store.unavailable")
