"""The command `avow`: words on a command line in, tables or JSON out, an exit code as promised.

This is the outermost frame: whatever was not foreseen ends here, as a fault with an incident id,
and allows nothing.
"""

import contextlib
import logging
import os
import secrets
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Annotated

import typer

from avow.channels.cli import console, journal, policy
from avow.channels.cli.copies import backup, restore
from avow.channels.cli.drill import drill
from avow.channels.cli.evaluate import evaluate
from avow.channels.cli.examine import conformance, doctor, settings
from avow.channels.cli.registry import agents, people
from avow.channels.cli.up import up
from avow.core.codes import Family
from avow.core.errors import AvowError, FaultError
from avow.engine.desk import Desk

HELP = """Agents declare before they act; Avow judges what they declare.

Start with `avow up`, or with `avow drill` to see what would have been stopped."""
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


app = typer.Typer(
    name="avow",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands over the flag
    if wanted:
        typer.echo(f"avow {metadata.version('avow')}")
        raise typer.Exit


@app.callback()
def everywhere(
    version: Annotated[
        bool,
        typer.Option("--version", help="print the version", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Answer what needs no command."""


for command in (up, evaluate, drill, backup, restore, conformance, settings, doctor):
    app.command()(command)
for name, group in (
    ("agents", agents),
    ("people", people),
    ("journal", journal.app),
    ("policy", policy.app),
):
    app.add_typer(group, name=name)


def run(arguments: Sequence[str], desk: Callable[[], Desk]) -> int:
    """Run one command and return its exit code.

    A verdict that could not be shown is no verdict: closed or full output ends as a fault.
    """
    if sys.stdout is None or sys.stdin is None or sys.stderr is None:
        return Family.FAULT.value
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s", stream=sys.stderr)
    try:
        code = _ran(arguments, desk)
        sys.stdout.flush()
    except OSError:
        _forget_output()
        return Family.FAULT.value
    return code


def _ran(arguments: Sequence[str], desk: Callable[[], Desk]) -> int:
    wants_json = "--json" in arguments
    try:
        code = app(args=list(arguments), prog_name="avow", obj=desk, standalone_mode=False)
    except typer.TyperException as mistake:
        return _corrected(mistake.format_message())
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except AvowError as error:
        return _told(error, wants_json=wants_json)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - the outermost frame
        return _told(_fault(error), wants_json=wants_json)
    return code if isinstance(code, int) else 0


def _forget_output() -> None:
    """Point the output nowhere, so that the interpreter does not complain of it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _corrected(message: str) -> int:
    """Tell a person what was wrong with the call; no message means that help was printed."""
    if not message:
        return 0
    line = message[:1].lower() + message[1:].rstrip(".")
    console.stderr().print(f"error usage: {line}\n  hint `avow COMMAND --help` has an example")
    return EXIT_USAGE


def _told(error: AvowError, *, wants_json: bool) -> int:
    if wants_json:
        console.print_json(console.error_value(error))
    else:
        console.print_error(error)
    return error.family.value


def _fault(error: Exception) -> FaultError:
    incident = f"inc_{secrets.token_hex(6)}"
    # Where it happened, but not the message: it may quote what an agent sent.
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
    logging.getLogger("avow").error("%s %s at %s", incident, type(error).__name__, where)
    return FaultError(incident=incident)
