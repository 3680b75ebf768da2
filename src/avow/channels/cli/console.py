"""How the command line prints: tables and cards for people, JSON for programs, errors for both.

Colour is off when piped or with NO_COLOR, and no meaning hangs on colour alone.
"""

import json
import sys
from typing import Any

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from avow.channels.render import ICONS, Card
from avow.core.errors import AvowError, MalformedError
from avow.core.untrusted import show
from avow.core.words import Outcome

STYLES = {
    Outcome.ALLOW: "green",
    Outcome.LOG_ALLOW: "cyan",
    Outcome.GATE: "yellow",
    Outcome.DENY: "red",
}
_BAR_WIDTH = 12
_BAR_POINTS = 50
_WIDTH_MIN, _WIDTH_MAX = 40, 100


def stdout() -> Console:
    """Return the console for results; not wider than people read."""
    console = Console(highlight=False, soft_wrap=False, emoji=False, markup=False)
    console.width = max(_WIDTH_MIN, min(console.width, _WIDTH_MAX))
    return console


def stderr() -> Console:
    """Return the console for errors and advice."""
    return Console(stderr=True, highlight=False, emoji=False, markup=False)


def print_json(value: Any) -> None:
    """Print one JSON value for a program."""
    # ASCII: what an agent wrote must not reach a terminal unescaped, and any encoding can carry it.
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_line(value: Any) -> None:
    """Print one JSON value on one line, at once: for programs that read while we run."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def outcome_text(outcome: Outcome) -> Text:
    """Return an outcome as a coloured word with its sign."""
    return Text(f"{ICONS[outcome]} {outcome.name}", style=f"bold {STYLES[outcome]}")


def table(*columns: str) -> Table:
    """Return an empty table in the house look; the last column takes the room."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, expand=False)
    for index, column in enumerate(columns):
        made.add_column(column, overflow="fold", ratio=1 if index == len(columns) - 1 else None)
    return made


def draw(card: Card) -> RenderableType:
    """Return the card of a verdict, drawn."""
    style = STYLES[card.outcome]
    head = Text.assemble(
        (f" {ICONS[card.outcome]} {card.outcome.name} ", f"bold reverse {style}"),
        f"  {card.meaning} · {card.level} risk {card.score} of 100",
    )
    # A column of our own words beside everything else: a long name that wraps stays in its column
    # and between its backticks, and cannot pass for another line of the card.
    what = Table.grid(padding=(0, 2))
    what.add_column(style="bold")
    what.add_column(overflow="fold")
    what.add_row(card.verb, Text(card.target, style="bold"))
    what.add_row("where", card.circumstances)
    what.add_row("agent", Text.assemble(f"{card.agent} ", (f"({card.trust})", "dim")))
    parts: list[RenderableType] = [
        head,
        Panel(what, box=ROUNDED, border_style=style, expand=True),
        _points(card),
        Text(""),
        _findings(card),
    ]
    for title, text in card.boxed:
        box = Panel(Text(text), title=title, title_align="left", box=ROUNDED)
        parts.append(Padding(box, (1, 0, 0, 0)))
    parts += _closing(card)
    return Group(*parts)


def print_error(error: AvowError) -> None:
    """Print an error for a person: what, where, and what to do."""
    console = stderr()
    console.print(Text.assemble(("error ", "bold red"), (error.code, "bold")))
    if isinstance(error, MalformedError):
        listed = table("where", "what is wrong")
        for problem in error.problems:
            listed.add_row(show(problem.path) or "-", show(problem.message))
        console.print(Padding(listed, (0, 0, 0, 2)))
        hints = list(dict.fromkeys(problem.hint for problem in error.problems))
    else:
        console.print(Padding(Text(show(error.message)), (0, 0, 0, 2)))
        hints = [error.hint]
    for hint in hints:
        console.print(Padding(Text.assemble(("hint ", "bold"), hint), (0, 0, 0, 2)))


def error_value(error: AvowError) -> dict[str, Any]:
    """Return an error as data, with the same names as the HTTP answer has."""
    value: dict[str, Any] = {
        "code": error.code,
        "status": error.status,
        "detail": error.message,
        "hint": error.hint,
        "problems": [],
    }
    if isinstance(error, MalformedError):
        value["problems"] = [
            {"path": p.path, "code": p.code, "message": p.message, "hint": p.hint}
            for p in error.problems
        ]
    return value


def _points(card: Card) -> Table:
    listed = table("points", "", "")
    listed.columns[1].justify = "right"
    for name, points in card.points:
        listed.add_row(name, f"{points:+d}", _bar(points))
    capped = f"capped from {card.total}" if card.total > card.score else ""
    listed.add_row(
        Text("score", style="bold"), Text(str(card.score), style="bold"), Text(capped, style="dim")
    )
    return listed


def _bar(points: int) -> Text:
    length = max(1, round(abs(points) / _BAR_POINTS * _BAR_WIDTH))
    return Text("█" * length, style="green" if points < 0 else "dim")


def _findings(card: Card) -> Table:
    listed = table("  at least", "rule", "because")
    for line in card.lines:
        weight = "bold" if line.decided else ""
        colour = STYLES[Outcome[line.outcome]] if line.outcome in Outcome.__members__ else "yellow"
        listed.add_row(
            Text(("▸ " if line.decided else "  ") + line.outcome, style=f"{weight} {colour}"),
            Text(line.name, style=weight),
            Text(show(line.says), style=weight),
        )
    return listed


def _closing(card: Card) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for path, text in card.assumptions:
        parts.append(Text.assemble(("assumed ", "bold"), f"{path}: {text}"))
    if card.hint:
        parts.append(Text.assemble(("what now ", "bold"), show(card.hint)))
    parts.append(Text(f"policy {show(card.policy)} · intent {card.digest[:12]}", style="dim"))
    if card.relaxes:
        count = len(card.relaxes)
        told = f"this policy is softer than the built-in one in {count} points"
        parts.append(Text(told, style="yellow"))
    return parts
