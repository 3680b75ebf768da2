"""`avow evaluate`: one declaration in, a verdict with every point and reason out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from avow.channels.cli import console
from avow.channels.cli.options import EXIT, JsonFlag, PolicyName, desk
from avow.channels.render import card
from avow.core import conclusion
from avow.core.errors import MalformedError, Problem
from avow.core.words import TRUST, Trust
from avow.dialects.irl import render as irl
from avow.dialects.reading import strip_comments


def evaluate(
    call: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="the record, or `-` for standard input")
    ],
    policy: PolicyName = None,
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="the trust you registered the agent with: low, medium, high, verified",
        ),
    ] = None,
    dialect: Annotated[str, typer.Option(metavar="NAME", help="the spelling: auto, irl")] = "auto",
    as_json: JsonFlag = False,
) -> int:
    """Judge one declaration and show every point and reason; nothing is recorded.

    Exit code 0: may go ahead. 20: waits for a human. 30: denied. 2: could not be read.
    Comments starting with `//` are taken out first.

    Example: `avow evaluate examples/incident.jsonc`
    """
    at = desk(call)
    done = at.evaluate(
        strip_comments(_read(file, at.size_bytes_max)),
        policy=at.policies(policy or at.default_policy),
        trust=_trust(trust),
        dialect=dialect,
    )
    if as_json:
        answer = irl.answer(
            conclusion.plain(done.verdict),
            verdict_id=done.verdict_id,
            timestamp=done.timestamp,
            digest=done.verdict.digest,
        )
        console.print_json(answer)
    else:
        console.stdout().print(console.draw(card(done.intent, done.verdict)))
    return EXIT[done.verdict.outcome]


def _read(file: Path, most: int) -> bytes:
    """Return the bytes of a file or of standard input, one more than allowed at the most."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(most + 1)
        with file.open("rb") as opened:
            return opened.read(most + 1)
    except OSError as error:
        told = (error.strerror or "cannot be read").lower()
        problem = Problem(str(file), "input.unreadable", told)
        raise MalformedError("input.unreadable", [problem]) from None


def _trust(word: str | None) -> Trust | None:
    if word is None or word in TRUST:
        return None if word is None else TRUST[word]
    raise typer.BadParameter(f"`{word}` is not one of {', '.join(TRUST)}", param_hint="--trust")
