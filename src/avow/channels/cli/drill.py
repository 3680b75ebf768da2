"""`avow drill`: public incidents, and what the judge makes of them."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from avow.channels.cli import console
from avow.channels.cli.options import EXIT_NOT_HELD, JsonFlag, PolicyName, desk
from avow.core import conclusion
from avow.engine import drill as drills

NEXT = (
    ("evaluate examples/incident.jsonc", "the record behind the first line, with every point"),
    ("evaluate examples/migration.json", "a change that waits for a human"),
    ("evaluate examples/read.json", "a harmless one"),
    ("policy check policies/default.toml", "what the judge goes by"),
    ("--help", "everything else"),
)


def drill(
    call: typer.Context,
    policy: PolicyName = None,
    as_json: JsonFlag = False,
    next_steps: Annotated[bool, typer.Option("--next", help="end with what to try next")] = False,
) -> int:
    """Replay public incidents through the judge and show what would have stopped them.

    Exit code 1 if any incident gets less than what would have helped. Nothing is executed.

    Example: `avow drill --policy irl-0.1`
    """
    at = desk(call)
    in_force = at.policies(policy or at.default_policy)
    replays = drills.replay(at.incidents(), lambda body: at.judge.judge(body, policy=in_force))
    if as_json:
        console.print_json([_replay_value(replay) for replay in replays])
    else:
        _print_drill(replays, in_force.name)
        if next_steps:
            _print_next()
    return 0 if all(replay.held for replay in replays) else EXIT_NOT_HELD


def _print_next() -> None:
    width = max(len(command) for command, _ in NEXT)
    lines = [f"  {_command()} {command.ljust(width)}  {what}" for command, what in NEXT]
    sys.stdout.write("\n".join(["", "Try next", *lines, ""]))


def _command() -> str:
    """Return how the person called us, so that what is printed can be pasted."""
    called = Path(sys.argv[0])
    return str(called) if called.parent.name == "bin" and ".venv" in called.parts else "avow"


def _replay_value(replay: drills.Replay) -> dict[str, object]:
    incident, verdict = replay.incident, replay.verdict
    return {
        "id": incident.id,
        "title": incident.title,
        "when": incident.when,
        "what": incident.what,
        "source": incident.source,
        "at_least": incident.at_least.name,
        "decision": verdict.outcome.name,
        "held": replay.held,
        "score": verdict.score,
        "policy_triggered": verdict.decided_by.name,
        "reason": verdict.decided_by.says,
        "reasons": list(verdict.reasons),
        "findings": [conclusion.finding(finding) for finding in verdict.findings],
    }


def _print_drill(replays: tuple[drills.Replay, ...], policy: str) -> None:
    out = console.stdout()
    listed = console.table("when", "incident", "verdict", "risk", "because")
    for replay in replays:
        verdict = replay.verdict
        because = Text(f"{verdict.decided_by.id} {verdict.decided_by.says}")
        if not replay.held:
            because.append(f"  (needed {replay.incident.at_least.name})", style="bold red")
        listed.add_row(
            replay.incident.when,
            replay.incident.title,
            console.outcome_text(verdict.outcome),
            str(verdict.score),
            because,
        )
    out.print(listed)
    counted = Counter(replay.verdict.outcome for replay in replays)
    told = ", ".join(f"{counted[outcome]} {outcome.name}" for outcome in sorted(counted))
    held = sum(replay.held for replay in replays)
    out.print()
    summary = f"{len(replays)} public incidents under policy {policy}: {told}."
    out.print(Text(summary, style="bold"))
    out.print(Text(f"{held} of {len(replays)} got at least what would have helped. Nothing ran."))
    out.print(Text("Sources and full reasons: avow drill --json", style="dim"))
