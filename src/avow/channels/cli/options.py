"""Options and exit codes that several commands share, and the desk they work at."""

from typing import Annotated

import typer

from avow.core.words import Outcome
from avow.engine.desk import Desk

EXIT = {Outcome.ALLOW: 0, Outcome.LOG_ALLOW: 0, Outcome.GATE: 20, Outcome.DENY: 30}
EXIT_NOT_HELD = 1

JsonFlag = Annotated[bool, typer.Option("--json", help="print one JSON value for a program")]
PolicyName = Annotated[
    str | None,
    typer.Option(metavar="POLICY", help="a preset (`default`, `irl-0.1`) or a .toml file"),
]


def desk(call: typer.Context) -> Desk:
    """Return the desk, built now: a command that only prints its help never needs one."""
    built: Desk = call.obj()
    return built
