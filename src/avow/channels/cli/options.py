"""Options and exit codes that several commands share, and the desk they work at."""

import contextlib
from collections.abc import Iterator
from typing import Annotated

import typer

from avow.core.words import Outcome
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


@contextlib.contextmanager
def office(call: typer.Context, data: str | None, store: str | None) -> Iterator[Office]:
    """Open the store for one command, and close it after."""
    opened = desk(call).office(flags({"store.data": data, "store.url": store}))
    try:
        yield opened
    finally:
        opened.close()


def desk(call: typer.Context) -> Desk:
    """Return the desk, built now: a command that only prints its help never needs one."""
    built: Desk = call.obj()
    return built
