"""`avow up`: start the server and say how to reach it."""

import json
import shlex
from typing import Annotated

import typer
from rich.text import Text

from avow.channels.cli import console
from avow.channels.cli.options import DataFolder, JsonFlag, StoreUrl, desk, flags
from avow.engine.office import Welcome

# Small enough for one line of a terminal, and denied by every preset.
FIRST = {
    "irl_version": "0.1",
    "agent": {"id": "my-first-agent", "trust_level": "low"},
    "operation": {
        "type": "delete",
        "target_resource": "volume:prod-db",
        "target_environment": "production",
    },
    "rationale": {"verified": False},
    "consequences": {"reversible": False, "rollback_plan": False},
}


def up(
    call: typer.Context,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="listen there")] = None,
    port: Annotated[
        int | None, typer.Option(help="listen on that port; 0 takes a free one")
    ] = None,
    data: DataFolder = None,
    store: StoreUrl = None,
    policy: Annotated[
        str | None, typer.Option(metavar="POLICY", help="the policy to put in force")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Start the server; stop it with Ctrl-C.

    Prints the address, the first admin key once, and a first line to paste. Logs are JSON lines on
    standard error. It listens on this machine only, unless TLS is set up.

    Example: `avow up --data ./avow-data --port 8800`
    """
    given = flags(
        {
            "http.host": host,
            "http.port": port,
            "store.data": data,
            "store.url": store,
            "policy.source": policy,
        }
    )
    desk(call).serve(given, _print_json if as_json else _print_welcome)


def curl(welcome: Welcome, key: str) -> str:
    """Return a line to paste that declares something; it is denied, and journalled."""
    body = json.dumps(FIRST, separators=(",", ":"))
    return (
        f"curl -s {welcome.address}/v1/evaluate -H {shlex.quote(f'Authorization: Bearer {key}')}"
        f" -d {shlex.quote(body)}"
    )


def _print_json(welcome: Welcome) -> None:
    fields = ("address", "data", "store", "policy", "entries", "admin_key")
    console.print_line({name: getattr(welcome, name) for name in fields})


def _print_welcome(welcome: Welcome) -> None:
    out = console.stdout()
    out.print(Text.assemble(("Avow listens on ", "bold"), (welcome.address, "bold cyan")))
    place = (
        welcome.data if welcome.store == "sqlite" else f"{welcome.store}, keys in {welcome.data}"
    )
    out.print(f"  policy   {welcome.policy}")
    out.print(f"  journal  {welcome.entries} entries in {place}", soft_wrap=True)
    if welcome.admin_key:
        out.print()
        out.print(Text("The first admin key, shown this once:", style="bold"))
        out.print(f"  {welcome.admin_key}", soft_wrap=True)
        out.print()
        out.print(Text("Declare something; it will be denied, and journalled:", style="bold"))
        out.print(f"  {curl(welcome, welcome.admin_key)}", soft_wrap=True)
    else:
        out.print("  keys     `avow agents add NAME` makes one for an agent; if yours is lost,")
        out.print("           `avow people add NAME --role admin` on this machine makes another")
    out.print()
    out.print(Text("Ctrl-C stops it.", style="dim"))
