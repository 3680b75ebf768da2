"""Copies of a whole database: a backup is one SQLite file, whatever database it came from.

A backup holds one consistent state, taken while others write. It bears its name only when it is
complete and on the disk; what a crash leaves behind bears another. Restoring goes into an empty
store of either kind, in one transaction. Which tables there are is asked of the databases, so a
migration needs no change here, as long as every table has a primary key and fills nothing itself.

A backup that is older than this program is first opened as a store, which brings it up to date.
Whether a backup is the newest there is, only anchors kept elsewhere can tell.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from avow.adapters.store import migration, sqlite
from avow.adapters.store.connection import DescribedConnection, Row, Table, named
from avow.adapters.store.sqlite import SqliteStore
from avow.core.errors import FaultError, MalformedError, Problem

Progress = Callable[[int, int], None]
CHUNK_ROWS = 1_000
_PARTIAL = f"{sqlite.FILE}.partial"
# Only PostgreSQL has it: what writing nodes take turns on.
_TURNS = "journal_writer"
# Every database fills these itself, when it is made.
_OWN = frozenset({"migrations", _TURNS})


class Store(Protocol):
    """A database that gives transactions and readers."""

    def transaction(self) -> AbstractContextManager[DescribedConnection]:
        """Run the body in one transaction: committed at its end, undone if it raises."""
        ...

    def reader(self) -> AbstractContextManager[DescribedConnection]:
        """Give a connection that reads one consistent state and writes nothing."""
        ...


def backup(store: Store, folder: Path, progress: Progress | None = None) -> None:
    """Write a copy of one state of the store into an empty folder; it is durable on return.

    `progress` hears how much is done, and of how much; the units are the database's own.
    """
    tell = progress or _unheard
    try:
        with _claimed(folder) as partial:
            if isinstance(store, SqliteStore):
                store.copy(partial, tell)
            else:
                _pull(store, partial, tell)
            sqlite.seal(partial)
            _sync(partial)
            partial.rename(folder / sqlite.FILE)
        # The new name lies in the folder, and the folder itself may be new to its parent.
        _sync(folder)
        _sync(folder.parent)
    except OSError as error:
        raise FaultError("store.unavailable") from error


def restore(folder: Path, store: Store, progress: Progress | None = None) -> None:
    """Copy a backup into an empty store, all of it or nothing; `progress` counts rows."""
    path = folder / sqlite.FILE
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(_backup_reader(path))
        target = stack.enter_context(store.transaction())
        _check_fit(source, target)
        tables = _tables(source)
        for table in tables:
            if target.rows(f"SELECT 1 FROM {named(table.name)} LIMIT 1"):  # noqa: S608 - our own name
                raise _malformed(
                    "store", "backup.not_empty", f"there are rows in `{table.name}` already"
                )
        _copy(source, target, tables, progress or _unheard)
        target.announce()


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[Path]:
    """Give an empty file under a passing name; it is gone afterwards, unless it was renamed."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = sorted(path.name for path in folder.iterdir())
    except (FileExistsError, NotADirectoryError) as error:
        raise _malformed(str(folder), "backup.not_empty", "it is not a folder") from error
    if found:
        raise _malformed(str(folder), "backup.not_empty", f"there is `{found[0]}` in it")
    partial = folder / _PARTIAL
    # What people wrote is in it: for the eyes of its owner. Made here, so that two cannot share it.
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield partial
    finally:
        for left in folder.glob(f"{_PARTIAL}*"):
            left.unlink(missing_ok=True)


def _pull(store: Store, partial: Path, progress: Progress) -> None:
    """Copy every table of one state into a fresh SQLite database."""
    made = SqliteStore(partial.parent, name=partial.name)
    with (
        contextlib.closing(made),
        store.reader() as source,
        made.transaction() as target,
    ):
        if _shapes(source) != _shapes(target):
            raise FaultError("store.incompatible")
        _copy(source, target, _tables(target), progress)


def _copy(
    source: DescribedConnection,
    target: DescribedConnection,
    tables: list[Table],
    progress: Progress,
) -> None:
    """Copy the rows of tables, in the order given, in chunks that fit into memory."""
    total, done = sum(source.size(table.name) for table in tables), 0
    progress(0, total)
    for table in tables:
        for rows in _chunks(source, table):
            target.insert(table.name, table.columns, rows)
            done += len(rows)
            progress(done, max(done, total))
    progress(done, done)


def _chunks(source: DescribedConnection, table: Table) -> Iterator[list[Row]]:
    """Read a table by its primary key, each chunk from where the last one ended."""
    key, marks = named(*table.key), ", ".join("?" * len(table.key))
    every = f"SELECT {named(*table.columns)} FROM {named(table.name)}"  # noqa: S608 - our own names
    end = f"ORDER BY {key} LIMIT {CHUNK_ROWS}"
    at = [table.columns.index(column) for column in table.key]
    rows = source.rows(f"{every} {end}")
    while rows:
        yield rows
        last = [rows[-1][index] for index in at]
        rows = source.rows(f"{every} WHERE ({key}) > ({marks}) {end}", *last)


def _check_fit(source: DescribedConnection, target: DescribedConnection) -> None:
    """Refuse a backup of another version: its migrations and tables must be those of this program.

    The store was opened by this program, so its migrations need no second look. Names that come
    out of a file are used in statements only if they are names of our own tables.
    """
    if _shapes(source) != _shapes(target):
        raise FaultError("store.incompatible")
    shipped = {(one.number, one.checksum) for one in migration.load("sqlite", sqlite.TYPES)}
    if set(source.rows("SELECT number, checksum FROM migrations")) != shipped:
        raise FaultError("store.incompatible")


@contextlib.contextmanager
def _backup_reader(path: Path) -> Iterator[DescribedConnection]:
    with contextlib.ExitStack() as stack:
        if not path.is_file():
            raise _malformed(str(path), "input.unreadable", "there is no backup")
        try:
            source = stack.enter_context(sqlite.file_reader(path))
        except FaultError as error:
            message = "it is damaged, or not a backup"
            raise _malformed(str(path), "input.unreadable", message) from error
        yield source


def _tables(connection: DescribedConnection) -> list[Table]:
    return [table for table in connection.tables() if table.name not in _OWN]


def _shapes(connection: DescribedConnection) -> set[tuple[str, frozenset[str], tuple[str, ...]]]:
    return {
        (table.name, frozenset(table.columns), table.key)
        for table in connection.tables()
        if table.name != _TURNS
    }


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _malformed(path: str, code: str, message: str) -> MalformedError:
    return MalformedError(code, [Problem(path, code, message)])


def _unheard(_done: int, _total: int) -> None:
    """Hear of progress and do nothing."""
