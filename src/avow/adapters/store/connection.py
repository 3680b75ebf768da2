"""A connection in three methods, so that repositories are written once for every database.

SQL is written with `?` for values. A driver's errors become our own here and nowhere else.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from avow.core.errors import FaultError

Row = tuple[Any, ...]
C = TypeVar("C", bound="Connection")


class Connection(Protocol):
    """One connection inside one transaction; `CLOCK` asks the database for milliseconds."""

    CLOCK: str

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query."""
        ...

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement that changes something and return how many rows it changed."""
        ...

    def batch(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for many rows."""
        ...


@contextlib.contextmanager
def committed(connection: C, *opening: str) -> Iterator[C]:
    """Run the body in one transaction: committed at its end, undone if it raises."""
    try:
        for statement in opening:
            connection.change(statement)
        yield connection
        connection.change("COMMIT")
    except BaseException:
        with contextlib.suppress(FaultError):
            connection.change("ROLLBACK")
        raise


@contextlib.contextmanager
def translated(errors: type[Exception]) -> Iterator[None]:
    """Turn a driver's errors into ours; the cause stays attached for the log."""
    try:
        yield
    except errors as error:
        raise FaultError("store.unavailable") from error
