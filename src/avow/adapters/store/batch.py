"""One transaction shared by many commands: rows wait for its end, and each command can be undone.

Rows that are only added wait, so that all commands share one insert for a table. A command that
changes something at once gets a savepoint first, and only then; one that fails is undone with what
it let wait, and what earlier commands let wait is written before the savepoint so that it stays.
"""

from collections.abc import Sequence
from typing import Any

from avow.adapters.store.connection import Connection, Row

# The columns of the tables whose rows wait, in the order in which they are handed in.
COLUMNS = {
    "journal_entries": ("tenant", "position", "hash", "body"),
    "journal_texts": ("tenant", "position", "field", "salt", "text"),
    "journal_nodes": ("tenant", "level", "place", "hash"),
    "verdicts": (
        "tenant",
        "id",
        "position",
        "principal",
        "agent",
        "session",
        "intent",
        "outcome",
        "conclusion",
        "dialect",
        "at_ms",
        "expires_ms",
        "redeemed_ms",
        "reported_ms",
    ),
    "conclusions": ("tenant", "digest", "body"),
    "repetitions": ("tenant", "principal", "kind", "id", "source", "verdict", "expires_ms"),
}


class Batch:
    """A connection in a transaction, with rows that wait; itself a `Connection`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: dict[str, list[Row]] = {table: [] for table in COLUMNS}
        self._mark: dict[str, int] | None = None
        self._saved = False

    def now_ms(self) -> int:
        """Return the time of the database."""
        return self._connection.now_ms()

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return all rows of a query; what waits is not among them."""
        return self._connection.rows(sql, *values)

    def change(self, sql: str, *values: Any) -> int:
        """Run a statement at once and return how many rows it changed."""
        self._save()
        return self._connection.change(sql, *values)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert rows at once."""
        self._save()
        self._connection.insert(table, columns, rows)

    def announce(self) -> None:
        """Tell others that there is something new once this is committed."""
        self._connection.announce()

    def add(self, table: str, row: Row) -> None:
        """Let a row wait for the end."""
        self._waiting[table].append(row)

    def flush(self) -> None:
        """Write what waits."""
        self._save()
        self._write({table: len(rows) for table, rows in self._waiting.items()})

    def begin(self) -> None:
        """Begin a part: what is changed from here on can be undone alone."""
        self._mark = {table: len(rows) for table, rows in self._waiting.items()}

    def end(self) -> None:
        """End a part that went well."""
        if self._saved:
            self._connection.change("RELEASE SAVEPOINT part")
        self._mark, self._saved = None, False

    def undo(self) -> None:
        """Take back what the part changed and let wait, and end it."""
        for table, count in (self._mark or {}).items():
            del self._waiting[table][count:]
        if self._saved:
            self._connection.change("ROLLBACK TO SAVEPOINT part")
        self.end()

    def _save(self) -> None:
        if self._mark is None or self._saved:
            return
        self._write(self._mark)
        self._mark = dict.fromkeys(COLUMNS, 0)
        self._connection.change("SAVEPOINT part")
        self._saved = True

    def _write(self, counts: dict[str, int]) -> None:
        """Write the first so many waiting rows of each table."""
        for table, count in counts.items():
            rows = self._waiting[table]
            if count:
                self._connection.insert(table, COLUMNS[table], rows[:count])
                del rows[:count]
