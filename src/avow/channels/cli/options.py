"""Options and exit codes that several commands share, and the desk they work at."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from avow.core.errors import MalformedError, Problem
from avow.core.words import Outcome
from avow.engine.archive import Archive
from avow.engine.desk import Desk
from avow.engine.office import Office

EXIT = {Outcome.ALLOW: 0, Outcome.LOG_ALLOW: 0, Outcome.GATE: 20, Outcome.DENY: 30}
EXIT_NOT_HELD = 1

JsonFlag = Annotated[bool, typer.Option("--json", help="print one JSON value for a program")]
PolicyName = Annotated[
    str | None,
    typer.Option(metavar="POLICY", help="a preset (`default`, `irl-0.1`) or a .toml file"),
]

DataFolder = Annotated[
    str | None, typer.Option(metavar="DIR", help="the folder of database, keys and anchor")
]
StoreUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="postgresql://… instead of the folder's database")
]


def flags(given: dict[str, str | int | None]) -> dict[str, str | int]:
    """Return the settings that were given on the command line."""
    return {key: value for key, value in given.items() if value is not None}


def placed(data: str | None, store: str | None) -> dict[str, str | int]:
    """Return the settings that say where the store is, as far as they were given."""
    return flags({"store.data": data, "store.url": store})


def archive(call: typer.Context, data: str | None, store: str | None) -> Archive:
    """Open the store for reading; nothing is made or changed by that."""
    return desk(call).archive(placed(data, store))


@contextlib.contextmanager
def office(call: typer.Context, data: str | None, store: str | None) -> Iterator[Office]:
    """Open the store for one command, and close it after."""
    opened = desk(call).office(placed(data, store))
    try:
        yield opened
    finally:
        opened.close()


def desk(call: typer.Context) -> Desk:
    """Return the desk, built now: a command that only prints its help never needs one."""
    built: Desk = call.obj()
    return built


def read_text(file: Path) -> str:
    """Return the text of a file for a check that tells what is wrong with it, or raise."""
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise unreadable(file, error) from None


def unreadable(file: Path, error: OSError) -> MalformedError:
    """Return the error for a file that cannot be opened, read or written."""
    told = (error.strerror or "cannot be read").lower()
    return MalformedError("input.unreadable", [Problem(str(file), "input.unreadable", told)])
