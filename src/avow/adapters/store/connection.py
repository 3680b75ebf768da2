"""A connection in three methods, so that repositories are written once for every database.

SQL is written with `?` for values. A driver's errors become our own here and nowhere else.
"""

from collections.abc import Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]


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
