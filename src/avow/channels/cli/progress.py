"""Progress for a person who waits: how far, how fast, how long still. Only on a terminal.

It goes to standard error, so that what a command prints can be piped.
"""

import contextlib
from collections.abc import Iterator

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from avow.channels.cli import console
from avow.engine import archive


@contextlib.contextmanager
def shown(what: str, unit: str = "") -> Iterator[archive.Progress | None]:
    """Give what hears of progress, or nothing where nobody looks."""
    err = console.stderr()
    if not err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        _Rate(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Rate(ProgressColumn):
    """How many units are done in a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} {self._unit}/s".replace(" /", "/"))
