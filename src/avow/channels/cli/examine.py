"""Commands that look at Avow itself: what is met, what is set, what is wrong."""

import typer
from rich.padding import Padding
from rich.text import Text

from avow.channels.cli import console, progress
from avow.channels.cli.options import (
    EXIT_NOT_HELD,
    DataFolder,
    JsonFlag,
    StoreUrl,
    desk,
    placed,
)
from avow.engine.conformance import Register, Status
from avow.engine.doctor import State


def conformance(call: typer.Context, as_json: JsonFlag = False) -> None:
    """Show how many clauses of the five specifications are met. Self-declared.

    Example: `avow conformance --json`
    """
    register_ = desk(call).register()
    if as_json:
        console.print_json(_register_value(register_))
    else:
        _print_register(register_)


def settings(call: typer.Context, as_json: JsonFlag = False) -> None:
    """Show every setting, its value and where the value came from.

    Example: `AVOW_POLICY_SOURCE=irl-0.1 avow settings`
    """
    shown = desk(call).settings()
    if as_json:
        keys = ("value", "origin", "variable", "bounds", "meaning")
        console.print_json({s.key: {key: getattr(s, key) for key in keys} for s in shown})
        return
    listed = console.table("setting", "value", "from", "what it is for")
    for s in shown:
        listed.add_row(s.key, s.value, s.origin, f"{s.meaning} ({s.bounds})")
    out = console.stdout()
    out.print(listed)
    told = f"Set them in avow.toml, or as variables: {shown[0].key} is {shown[0].variable}."
    out.print(Padding(Text(told, style="dim"), (1, 0, 0, 0)))


def doctor(
    call: typer.Context, data: DataFolder = None, store: StoreUrl = None, as_json: JsonFlag = False
) -> int:
    """Examine this installation and say what to do about anything that is wrong.

    Nothing in the store is changed; backup and restore are rehearsed in a temporary folder. Exit
    code 1 if something is bad.

    Example: `avow doctor`
    """
    with progress.shown("examining") as tell:
        checks = desk(call).doctor(placed(data, store), tell)
    if as_json:
        keys = ("name", "state", "detail", "hint")
        console.print_json([{key: getattr(check, key) for key in keys} for check in checks])
    else:
        listed = console.table("", "check", "found")
        signs = {State.GOOD: "✓", State.WARNING: "!", State.BAD: "✗"}
        for check in checks:
            told = check.detail + (f"\n{check.hint}" if check.hint else "")
            listed.add_row(signs[check.state], check.name, told)
        console.stdout().print(listed)
    return EXIT_NOT_HELD if any(check.state is State.BAD for check in checks) else 0


def _register_value(register_: Register) -> dict[str, object]:
    return {
        "declared_by": "self",
        "open_musts": register_.open_musts,
        "specifications": {
            spec: {status.value: counted[status] for status in Status}
            for spec, counted in register_.counted().items()
        },
        "clauses": [
            {
                "id": clause.id,
                "keyword": clause.keyword,
                "status": clause.status.value,
                "code": list(clause.code),
                "why": clause.why,
            }
            for clause in register_.clauses
        ],
    }


def _print_register(register_: Register) -> None:
    out = console.stdout()
    listed = console.table("specification", "clauses", *Status, "")
    for column in listed.columns[1:]:
        column.justify = "right"
    for spec, counted in register_.counted().items():
        numbers = [str(counted[status]) for status in Status]
        listed.add_row(spec, str(counted.total()), *numbers, "")
    out.print(listed)
    told = f"{register_.open_musts} MUST clauses are open. Self-declared, certified by nobody."
    out.print(Padding(Text(told), (1, 0, 0, 0)))
    out.print(Text("Clause by clause: docs/conformance.md, or --json", style="dim"))
