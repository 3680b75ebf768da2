"""A connection in a few methods, so that repositories are written once for every database.

SQL is written with `?` for values. A driver's errors become our own here and nowhere else. Whoever
commits can tell three ends apart, all of them with the code `store.unavailable`:

    RetryableError        nothing was committed, and the same again can help
    UnknownCommitError    the commit was sent and its answer never came: look before trying again
    FaultError            nothing was committed, and the same again would fail again
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from avow.core.errors import FaultError

Row = tuple[Any, ...]
C = TypeVar("C", bound="WritingConnection")
_NAME = re.compile(r"[a-z_]+")


class RetryableError(FaultError):
    """Nothing was committed; a lost connection or somebody else was in the way."""


class UnknownCommitError(FaultError):
    """The commit was sent and the connection broke before its answer: it may have happened."""


class Table(NamedTuple):
    """A table as its database describes it; `key` holds the columns of its primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Connection(Protocol):
    """One connection inside one transaction."""

    def now_ms(self) -> int:
        """Return the time of the database, in milliseconds."""
        ...

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        ...

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement that changes something and return how many rows it changed."""
        ...

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert many rows at once; `table` and `columns` are our own names, never from outside."""
        ...

    def announce(self) -> None:
        """Say that others should look, once this transaction is committed; see `watch`."""
        ...


class DescribedConnection(Connection, Protocol):
    """A connection that also tells what there is, so that all of it can be copied."""

    def tables(self) -> list[Table]:
        """Return the tables there are, as the database itself lists them."""
        ...

    def size(self, table: str) -> int:
        """Return about how many rows a table has: for showing progress, never for judging."""
        ...


class WritingConnection(Connection, Protocol):
    """A connection that begins and ends transactions; only `committed` calls these three."""

    def begin(self) -> None:
        """Begin, on a fresh connection if the one before was lost or cannot be trusted."""
        ...

    def commit(self) -> None:
        """Commit; only if this returns is everything durable."""
        ...

    def rollback(self) -> None:
        """Undo what is open; raises nothing, and what could not be undone is not used again."""
        ...


@contextlib.contextmanager
def committed(connection: C, *opening: str) -> Iterator[C]:
    """Run the body in one transaction: committed at its end, undone if it raises.

    A driver's failure up to the commit is a `RetryableError` or a plain `FaultError`, and certainly
    nothing was committed. Only an `UnknownCommitError` leaves open whether it was.
    """
    # Outside: what did not begin here is not undone here.
    connection.begin()
    try:
        for statement in opening:
            connection.change(statement)
        yield connection
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


@contextlib.contextmanager
def translated(errors: type[Exception], fault: Callable[[Any], FaultError]) -> Iterator[None]:
    """Turn a driver's errors into ours; the cause stays attached for the log."""
    try:
        yield
    except errors as error:
        raise fault(error) from error


def named(*names: str) -> str:
    """Return names of our own for a statement; anything that could be more than a name is a bug."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise AssertionError(f"`{name}` is not a name of ours")
    return ", ".join(names)
