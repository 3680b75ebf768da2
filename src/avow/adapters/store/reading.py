"""Stores opened for reading only: nothing is made, migrated, mended or marked as used.

For whoever examines a journal, also on a copy that cannot be written to. Which way a SQLite file is
read depends on what lies beside it:

    no log of commits        as a file that does not change; if it did meanwhile, that is told
    a log and its index      beside whoever writes, without touching the index
    a log without its index  in a temporary copy, because SQLite would have to make the index

Promised: no file in the folder is made or changed. Not promised: to be fast in the third case.
"""

import contextlib
import shutil
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from avow.adapters.store.connection import Connection, DescribedConnection, translated
from avow.adapters.store.postgres import Limits, PostgresConnection, PostgresStore
from avow.adapters.store.sqlite import FILE, SqliteConnection
from avow.core.errors import FaultError, MalformedError, Problem
from avow.core.journal import GENESIS

_BUSY_MS = 5_000
_URI = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
# The index of the log stays as it is: read where somebody keeps it, rebuilt in memory otherwise.
_BESIDE_A_WRITER = "readonly_shm=1"
_AS_IT_LIES = "immutable=1"
_TABLE = "journal_entries"
# What a file answers that was changed by other means than SQLite's, and what its columns then hold.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, ValueError)


class Line(NamedTuple):
    """One entry as it is stored, whether or not it fits."""

    position: int
    hash: str
    body: bytes


class Text(NamedTuple):
    """One text beside the chain as it is stored."""

    position: int
    field: str
    salt: bytes
    text: str


class SqliteReader:
    """A folder with a database in it, or with a copy of one."""

    def __init__(self, folder: Path, name: str = FILE) -> None:
        self.path = folder / name
        if not self.path.is_file():
            raise nothing_there(str(self.path))

    @contextlib.contextmanager
    def reader(self) -> Iterator[DescribedConnection]:
        """Give a connection that reads one consistent state."""
        log = _size(self._beside("-wal"))
        if not log:
            with self._as_it_lies() as connection:
                yield connection
        elif self._beside("-shm").exists():
            with _opened(self.path, _BESIDE_A_WRITER) as connection:
                yield connection
        else:
            with self._copied() as connection:
                yield connection

    def transaction(self) -> contextlib.AbstractContextManager[DescribedConnection]:
        """Refuse: nothing is written through this."""
        raise FaultError("store.unavailable")

    @contextlib.contextmanager
    def _as_it_lies(self) -> Iterator[SqliteConnection]:
        before = self._looks()
        with _opened(self.path, _AS_IT_LIES) as connection:
            yield connection
        if self._looks() != before:
            # Somebody began to write: what was read may be half of one state and half of another.
            raise FaultError("store.unavailable")

    @contextlib.contextmanager
    def _copied(self) -> Iterator[SqliteConnection]:
        with tempfile.TemporaryDirectory(prefix="avow-reading-") as folder:
            copied = Path(folder) / self.path.name
            try:
                shutil.copyfile(self.path, copied)
                shutil.copyfile(self._beside("-wal"), f"{copied}-wal")
            except OSError as error:
                raise FaultError("store.unavailable") from error
            with _opened(copied, "") as connection:
                yield connection

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def _looks(self) -> tuple[int, ...]:
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino, _size(self._beside("-wal"))


class PostgresReader(PostgresStore):
    """A database by its address: what `PostgresStore` is, without migrating or writing."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._limits = Limits()
        with self.reader() as connection:
            if _TABLE not in {table.name for table in connection.tables()}:
                raise nothing_there("store.url")

    def transaction(
        self, *, patient: bool = True
    ) -> contextlib.AbstractContextManager[PostgresConnection]:
        """Refuse: nothing is written through this."""
        del patient
        raise FaultError("store.unavailable")

    def close(self) -> None:
        """Do nothing: every reader closes itself."""


def is_damage(error: FaultError) -> bool:
    """Return whether what was read is broken, and not only out of reach."""
    return isinstance(error.__cause__, _DAMAGE)


def head(connection: Connection, tenant: str) -> tuple[int, str, str]:
    """Return how many entries the store says there are, the last hash, and the origin."""
    with _typed():
        ends = connection.rows(
            "SELECT position, hash FROM journal_heads WHERE tenant = ?", tenant
        ) or [(0, GENESIS)]
        origins = connection.rows(
            "SELECT origin FROM journal_origins WHERE tenant = ?", tenant
        ) or [("",)]
        return _whole(ends[0][0]), _word(ends[0][1]), _word(origins[0][0])


def lines(connection: Connection, tenant: str, *, after: int, most: int) -> list[Line]:
    """Return up to `most` entries behind a position; raise `FaultError` if they are not readable.

    A damaged file may hold anything in any column: whatever is not of its type is damage too.
    """
    with _typed():
        rows = connection.rows(
            "SELECT position, hash, body FROM journal_entries"
            " WHERE tenant = ? AND position > ? ORDER BY position LIMIT ?",
            tenant,
            after,
            most,
        )
        return [Line(_whole(place), _word(hashed), _blob(body)) for place, hashed, body in rows]


def texts(connection: Connection, tenant: str, *, after: int, upto: int) -> list[Text]:
    """Return the texts beside the entries behind one position up to another."""
    with _typed():
        rows = connection.rows(
            "SELECT position, field, salt, text FROM journal_texts"
            " WHERE tenant = ? AND position > ? AND position <= ? ORDER BY position, field",
            tenant,
            after,
            upto,
        )
        return [Text(_whole(at), _word(f), _blob(salt), _word(text)) for at, f, salt, text in rows]


def nothing_there(where: str) -> MalformedError:
    """Return the error for a place that holds no journal."""
    told = "there is no journal here yet; `avow up` begins one"
    return MalformedError("input.unreadable", [Problem(where, "input.unreadable", told)])


def _typed() -> contextlib.AbstractContextManager[None]:
    """Turn what is not of its type into the same error that a broken file gives."""
    return translated(ValueError, lambda _: FaultError("store.unavailable"))


@contextlib.contextmanager
def _opened(path: Path, how: str) -> Iterator[SqliteConnection]:
    address = f"file:{urllib.parse.quote(str(path.absolute()))}?mode=ro&{how}"
    with translated(apsw.Error, lambda _: FaultError("store.unavailable")):
        raw = apsw.Connection(address, flags=_URI)
    with contextlib.closing(raw):
        raw.set_busy_timeout(_BUSY_MS)
        connection = SqliteConnection(raw)
        connection.change("BEGIN")
        yield connection


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004 - one kind of error for everything that is damaged
    return value


def _blob(value: object) -> bytes:
    if not isinstance(value, bytes | memoryview):
        raise ValueError("not bytes")  # noqa: TRY004 - the same
    return bytes(value)
