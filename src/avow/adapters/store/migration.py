"""Migrations: numbered SQL files, applied once each, in order, inside one transaction.

A file that was applied must not change: its checksum is kept, and a difference refuses to start,
as does a database that is ahead of this program.
"""

import hashlib
from importlib.resources import files
from typing import NamedTuple

from avow.adapters.store.connection import Connection
from avow.core.errors import FaultError

_TABLE = "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, checksum TEXT NOT NULL)"


class Migration(NamedTuple):
    """One numbered file, as this database is to run it."""

    number: int
    statements: tuple[str, ...]
    checksum: str


def load(engine: str, types: dict[str, str]) -> tuple[Migration, ...]:
    """Return the migrations for a database engine, in order."""
    found = []
    for item in sorted(files(__package__).joinpath("migrations").iterdir(), key=lambda i: i.name):
        name, *which, _ = item.name.split(".")
        if which and which != [engine]:
            continue
        text = item.read_text(encoding="utf-8")
        found.append(
            Migration(
                int(name.split("_")[0]),
                tuple(_statements(text.format(**types))),
                hashlib.sha256(text.encode("utf-8")).hexdigest(),
            )
        )
    return tuple(found)


def apply(connection: Connection, migrations: tuple[Migration, ...]) -> int:
    """Apply what is missing and return how many were; raise if the past was changed."""
    connection.change(_TABLE)
    done = {row[0]: row[1] for row in connection.rows("SELECT number, checksum FROM migrations")}
    known = {migration.number: migration.checksum for migration in migrations}
    for number, checksum in done.items():
        if known.get(number) != checksum:
            raise FaultError("store.incompatible")
    fresh = [migration for migration in migrations if migration.number not in done]
    for migration in fresh:
        for statement in migration.statements:
            connection.change(statement)
        connection.change(
            "INSERT INTO migrations (number, checksum) VALUES (?, ?)",
            migration.number,
            migration.checksum,
        )
    return len(fresh)


def _statements(text: str) -> list[str]:
    """Split a file into statements, which stand apart by blank lines; comments are left out."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    blocks = "\n".join(lines).split("\n\n")
    return [block.strip().removesuffix(";") for block in blocks if block.strip()]
