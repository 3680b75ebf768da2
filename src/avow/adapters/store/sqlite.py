"""SQLite through apsw: one file, one writer, durable when it says so.

WAL with synchronous FULL: a commit that returned is on the disk. One connection writes; readers
have their own and never block it. A library with the WAL-reset fault (before 3.51.3) is refused.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from avow.adapters.store import migration
from avow.adapters.store.connection import Row, committed, translated
from avow.core.errors import FaultError

VERSION_LEAST = 3_051_003
_BUSY_MS = 5_000
_TYPES = {"bytes": "BLOB"}
_FILE = "avow.sqlite"


def library_version() -> int:
    """Return the version of the SQLite library in use, as it numbers itself."""
    return apsw.SQLITE_VERSION_NUMBER


class SqliteConnection:
    """An apsw connection behind the three methods."""

    CLOCK = "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)"

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        with translated(apsw.Error):
            return list(self._connection.execute(sql, values))

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        with translated(apsw.Error):
            self._connection.execute(sql, values)
            return self._connection.changes()

    def batch(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for many rows."""
        with translated(apsw.Error):
            self._connection.executemany(sql, rows)


class SqliteStore:
    """A folder with one database in it."""

    def __init__(self, folder: Path) -> None:
        if library_version() < VERSION_LEAST:
            raise FaultError("store.incompatible")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FaultError("store.unavailable") from error
        self._path = folder / _FILE
        self._raw = self._opened(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._raw.execute(f"PRAGMA {setting}")
        self._writer = SqliteConnection(self._raw)
        try:
            with self.transaction() as connection:
                migration.apply(connection, migration.load("sqlite", _TYPES))
        except FaultError:
            self.close()
            raise

    def transaction(self) -> contextlib.AbstractContextManager[SqliteConnection]:
        """Run the body in one transaction: committed at its end, undone if it raises."""
        return committed(self._writer, "BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def reader(self) -> Iterator[SqliteConnection]:
        """Give a connection that reads one consistent state and writes nothing."""
        raw = self._opened(apsw.SQLITE_OPEN_READONLY)
        try:
            reading = SqliteConnection(raw)
            reading.change("BEGIN")
            yield reading
        finally:
            raw.close()

    def close(self) -> None:
        """Close the writing connection."""
        self._raw.close()

    def _opened(self, flags: int) -> apsw.Connection:
        with translated(apsw.Error):
            connection = apsw.Connection(str(self._path), flags=flags)
            connection.set_busy_timeout(_BUSY_MS)
            return connection
