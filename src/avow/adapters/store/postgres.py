"""PostgreSQL through psycopg: several nodes on one database, one journal.

A writing transaction takes the row of `journal_writer` first, so that nodes take turns; a commit
that returned is durable as far as the server's own settings make it. Readers see one state.
Nothing waits for ever: not for a connection, a turn, a statement or the answer of a silent server.
A lost connection is replaced when the next transaction begins.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from avow.adapters.store import migration
from avow.adapters.store.connection import (
    RetryableError,
    Row,
    Table,
    UnknownCommitError,
    committed,
    named,
    translated,
)
from avow.adapters.store.wakeups import Watch
from avow.core.errors import FaultError

CHANNEL = "avow_journal"
_TYPES = {"bytes": "BYTEA"}
# Held while migrating: two nodes that start together must not both create the tables.
_MIGRATING = "SELECT pg_advisory_xact_lock(4711001)"
_TURN = "SELECT single FROM journal_writer FOR UPDATE"
# Whatever the database's own default is: who waited for the turn must see what came before it.
_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WATCH_S = 0.25
# A peer that went away without a word is noticed after about ten seconds.
_KEEPALIVES: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# Serialization failure, deadlock, lock not available, statement timeout.
_IN_THE_WAY = frozenset({"40001", "40P01", "55P03", "57014"})
_COLUMNS = (
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod),"
    " array_position(i.indkey::int2[], a.attnum)"
    " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
    " LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
    " AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum"
)


class Limits(NamedTuple):
    """How long to wait at most: for a connection, a turn, a statement, any answer at all.

    The last must be the longest: whoever gives up on the server no longer learns what it did.
    """

    connect_s: int = 5
    turn_ms: int = 5_000
    statement_ms: int = 10_000
    answer_s: float = 15.0


_LIMITS = Limits()
# Building an index may take long, and so may waiting for the node that builds it.
_LIMITS_MIGRATING = Limits(turn_ms=600_000, statement_ms=3_000_000, answer_s=3_600.0)


class PostgresConnection:
    """A psycopg connection behind the methods of a `Connection`."""

    _CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    def __init__(
        self, raw: psycopg.Connection[Row], types: dict[tuple[str, str], str] | None = None
    ) -> None:
        self._raw = raw
        self._types = {} if types is None else types

    def now_ms(self) -> int:
        """Return the time of the server, which all nodes share."""
        return int(self.rows(self._CLOCK)[0][0])

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        with translated(psycopg.Error, self._failed):
            return self._raw.execute(_spelled(sql), values or None).fetchall()

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        with translated(psycopg.Error, self._failed):
            return self._raw.execute(_spelled(sql), values or None).rowcount

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert many rows at once: one statement, each column one array in binary."""
        into = f"{named(table)} ({named(*columns)})"
        if not rows:
            return
        marks = ", ".join(f"%b::{self._type(table, column)}[]" for column in columns)
        sql = f"INSERT INTO {into} SELECT * FROM unnest({marks})"  # noqa: S608 - our own names, and types from the catalogue
        arrays = [list(column) for column in zip(*rows, strict=True)]
        with translated(psycopg.Error, self._failed):
            self._raw.execute(sql, arrays)

    def announce(self) -> None:
        """Wake whoever watches, on any node, when this transaction is committed."""
        self.change(f"NOTIFY {CHANNEL}")

    def tables(self) -> list[Table]:
        """Return the tables there are, by name."""
        found: dict[str, list[Row]] = {}
        for table, *column in self.rows(_COLUMNS):
            found.setdefault(table, []).append(tuple(column))
        return [
            Table(
                table,
                tuple(name for name, _, _ in columns),
                tuple(n for _, n in sorted((k, n) for n, _, k in columns if k is not None)),
            )
            for table, columns in found.items()
        ]

    def size(self, table: str) -> int:
        """Return about how many rows a table has, without counting them."""
        sql = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = ?::regclass"
        return int(self.rows(sql, named(table))[0][0])

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()

    def _type(self, table: str, column: str) -> str:
        if (table, column) not in self._types:
            self._types.update({(t, c): kind for t, c, kind, _ in self.rows(_COLUMNS)})
        if (table, column) not in self._types:
            raise FaultError("store.unavailable")
        return self._types[table, column]

    def _failed(self, error: psycopg.Error) -> FaultError:
        if self._is_lost(error):
            # A server that gave no answer in time is as good as gone; its answer must not be
            # taken for that of a later statement.
            self._raw.close()
            return RetryableError("store.unavailable")
        return _fault(error)

    def _is_lost(self, error: psycopg.Error) -> bool:
        without_answer = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
        last_word = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        return self._raw.closed or without_answer or last_word


class PostgresWriter(PostgresConnection):
    """The connection that writes; it is replaced when it was lost."""

    def __init__(self, opened: Callable[[], psycopg.Connection[Row]]) -> None:
        super().__init__(opened())
        self._opened = opened
        self._is_closed = False

    def begin(self) -> None:
        """Begin; nothing has been done yet, so a lost connection is simply replaced."""
        if self._is_closed:
            raise FaultError("store.unavailable")
        if self._raw.pgconn.transaction_status == TransactionStatus.IDLE:
            with contextlib.suppress(RetryableError):
                self.change(_WRITING)
                return
        self._raw.close()
        self._raw = self._opened()
        self.change(_WRITING)

    def commit(self) -> None:
        """Commit; where the connection breaks in it, nobody knows whether it was."""
        if self._raw.closed:
            raise RetryableError("store.unavailable")
        try:
            done = self._raw.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            is_lost = self._is_lost(error)
            fault = self._failed(error)
            raise (UnknownCommitError("store.unavailable") if is_lost else fault) from error
        # A transaction in which a statement failed is undone by COMMIT, without an error.
        if done != "COMMIT":
            raise FaultError("store.unavailable")

    def rollback(self) -> None:
        """Undo what is open; `begin` replaces a connection on which that failed."""
        with contextlib.suppress(FaultError):
            if not self._raw.closed:
                self.change("ROLLBACK")

    def close(self) -> None:
        """Close the connection for good."""
        self._is_closed = True
        super().close()


class PostgresStore:
    """One database, named by its address."""

    def __init__(self, address: str, *, limits: Limits = _LIMITS) -> None:
        self._address = address
        self._limits = _LIMITS_MIGRATING._replace(connect_s=limits.connect_s)
        with (
            contextlib.closing(PostgresWriter(self._opened)) as migrating,
            committed(migrating, _MIGRATING) as connection,
        ):
            migration.apply(connection, migration.load("postgres", _TYPES))
        self._limits = limits
        self._writer = PostgresWriter(self._opened_for_writing)

    def transaction(
        self, *, patient: bool = True
    ) -> contextlib.AbstractContextManager[PostgresConnection]:
        """Run the body in one transaction: committed at its end, undone if it raises.

        It waits for its turn in any case: nodes are not impatient with each other.
        """
        del patient
        return committed(self._writer, _TURN)

    @contextlib.contextmanager
    def reader(self) -> Iterator[PostgresConnection]:
        """Give a connection that reads one consistent state and writes nothing."""
        with contextlib.closing(PostgresConnection(self._opened())) as reading:
            reading.change(_READING)
            yield reading

    def watch(self, tell: Callable[[], None]) -> Watch:
        """Call `tell` from another thread soon after anybody committed what they announced."""
        return Watch(self._listening, tell)

    def close(self) -> None:
        """Close the writing connection."""
        self._writer.close()

    def _opened_for_writing(self) -> psycopg.Connection[Row]:
        # A node that was stopped in the middle of its turn must not keep the others from theirs.
        return self._opened(idle_in_transaction_session_timeout=round(self._limits.answer_s * 1000))

    def _opened(self, **settings: int) -> psycopg.Connection[Row]:
        limits = self._limits
        settings |= {"statement_timeout": limits.statement_ms, "lock_timeout": limits.turn_ms}
        with translated(psycopg.Error, lambda _: RetryableError("store.unavailable")):
            given = conninfo_to_dict(self._address).get("options", "")
            ours = (f"-c {name}={value}" for name, value in settings.items())
            raw = _BoundedConnection.connect(
                self._address,
                autocommit=True,
                connect_timeout=limits.connect_s,
                options=" ".join([str(given), *ours]).strip(),
                fallback_application_name="avow",
                **_KEEPALIVES,
            )
        raw.answer_s = limits.answer_s
        return raw

    @contextlib.contextmanager
    def _listening(self) -> Iterator[Callable[[threading.Event], bool]]:
        with contextlib.closing(self._opened()) as raw:
            PostgresConnection(raw).change(f"LISTEN {CHANNEL}")

            def heard(_ended: threading.Event) -> bool:
                return any(True for _ in raw.notifies(timeout=_WATCH_S, stop_after=1))

            yield heard


class _BoundedConnection(psycopg.Connection[Row]):
    """A connection that gives up on a server which says nothing; psycopg would wait for ever."""

    answer_s = 15.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return super().wait(gen, interval, self.answer_s if timeout is None else timeout)


def _fault(error: psycopg.Error) -> FaultError:
    kind = RetryableError if error.sqlstate in _IN_THE_WAY else FaultError
    return kind("store.unavailable")


def _spelled(sql: str) -> str:
    # Our own statements only, with `?` for values; nothing that came from outside is ever in them.
    return sql.replace("?", "%s")
