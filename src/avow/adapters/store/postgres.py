"""PostgreSQL through psycopg: several nodes on one database, one journal.

A writing transaction takes the row of `journal_writer` first, so that nodes take turns; a commit
that returned is durable as far as the server's own settings make it. Readers see one state.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from avow.adapters.store import migration
from avow.adapters.store.connection import Row, committed, translated
from avow.core.errors import FaultError

_TYPES = {"bytes": "BYTEA"}
# Held while migrating: two nodes that start together must not both create the tables.
_MIGRATING = "SELECT pg_advisory_xact_lock(4711001)"
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresConnection:
    """A psycopg connection behind the three methods."""

    CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        with translated(psycopg.Error):
            return self._connection.execute(_spelled(sql), values).fetchall()

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        with translated(psycopg.Error):
            return self._connection.execute(_spelled(sql), values).rowcount

    def batch(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for many rows."""
        if rows:
            with translated(psycopg.Error), self._connection.cursor() as cursor:
                cursor.executemany(_spelled(sql), rows)


class PostgresStore:
    """One database, named by its address."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._raw = self._opened()
        self._writer = PostgresConnection(self._raw)
        try:
            with committed(self._writer, "BEGIN", _MIGRATING) as connection:
                migration.apply(connection, migration.load("postgres", _TYPES))
        except FaultError:
            self.close()
            raise

    def transaction(self) -> contextlib.AbstractContextManager[PostgresConnection]:
        """Run the body in one transaction: committed at its end, undone if it raises."""
        return committed(self._writer, "BEGIN", "SELECT single FROM journal_writer FOR UPDATE")

    @contextlib.contextmanager
    def reader(self) -> Iterator[PostgresConnection]:
        """Give a connection that reads one consistent state and writes nothing."""
        raw = self._opened()
        try:
            reading = PostgresConnection(raw)
            reading.change(_READING)
            yield reading
        finally:
            raw.close()

    def close(self) -> None:
        """Close the writing connection."""
        self._raw.close()

    def _opened(self) -> psycopg.Connection[Row]:
        with translated(psycopg.Error):
            return psycopg.connect(self._address, autocommit=True)


def _spelled(sql: str) -> str:
    # Our own statements only, with `?` for values; nothing that came from outside is ever in them.
    return sql.replace("?", "%s")
