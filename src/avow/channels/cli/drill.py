"""`avow drill`: public incidents, and what the judge makes of them."""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from avow.channels.cli import console
from avow.channels.cli.options import EXIT_NOT_HELD, JsonFlag, PolicyName, desk
from avow.core import conclusion
from avow.core.errors import MalformedError, Problem
from avow.core.untrusted import show
from avow.core.words import Outcome
from avow.dialects.irl import render as irl
from avow.engine import drill as drills
from avow.engine.desk import Desk
from avow.engine.drill import Incident

_KEY_FILE_MAX = 4096

NEXT = (
    ("evaluate examples/incident.jsonc", "the record behind the first line, with every point"),
    ("evaluate examples/migration.json", "a change that waits for a human"),
    ("evaluate examples/read.json", "a harmless one"),
    ("policy check policies/default.toml", "what the judge goes by"),
    ("--help", "everything else"),
)


@dataclass(frozen=True, slots=True)
class Replayed:
    """One incident with what was answered, here or by a server, in the words of the wire."""

    incident: Incident
    answer: Mapping[str, Any]

    @property
    def outcome(self) -> Outcome:
        """Return the outcome that was answered."""
        return Outcome[self.answer["decision"]]

    @property
    def held(self) -> bool:
        """Return whether the outcome is at least what would have helped."""
        return self.outcome >= self.incident.at_least

    @property
    def position(self) -> int | None:
        """Return where the journal holds it, if it was recorded."""
        place = self.answer.get("journal")
        return None if place is None else int(place["position"])


def drill(
    call: typer.Context,
    policy: PolicyName = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="ask a running server instead")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="an admin's key for that server")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the file that holds the key")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="let the server judge and write nothing")
    ] = False,
    as_json: JsonFlag = False,
    next_steps: Annotated[bool, typer.Option("--next", help="end with what to try next")] = False,
) -> int:
    """Replay public incidents through the judge and show what would have stopped them.

    Exit code 1 if any incident gets less than what would have helped. Nothing is executed.
    With `--url` a running server judges under its own policy and journals every verdict; the
    incidents name agents of their own, so that takes an admin's key.

    Example: `avow drill --policy irl-0.1`
    """
    at = desk(call)
    if url is None:
        _refuse_without_url(key, key_file, simulate=simulate)
        replays = _replayed_here(at, policy or at.default_policy)
    else:
        if policy is not None:
            raise typer.BadParameter("a server goes by its own policy", param_hint="--policy")
        with at.remote(url, _key(key, key_file), simulate) as answering:
            replays = [Replayed(one, answering(one.record)) for one in at.incidents()]
    if as_json:
        console.print_json([_replay_value(replay) for replay in replays])
    else:
        _print_drill(replays)
        if next_steps:
            _print_next()
    return 0 if all(replay.held for replay in replays) else EXIT_NOT_HELD


def _replayed_here(at: Desk, policy: str) -> list[Replayed]:
    in_force = at.policies(policy)
    judged = drills.replay(at.incidents(), lambda body: at.judge.judge(body, policy=in_force))
    return [
        Replayed(replay.incident, irl.shared(conclusion.plain(replay.verdict))) for replay in judged
    ]


def _refuse_without_url(key: str | None, key_file: Path | None, *, simulate: bool) -> None:
    given = {"--key": key is not None, "--key-file": key_file is not None, "--simulate": simulate}
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter("only together with `--url`", param_hint=option)


def _key(key: str | None, key_file: Path | None) -> str:
    """Return the key, which no message ever quotes."""
    if (key is None) == (key_file is None):
        raise typer.BadParameter("give `--key` or `--key-file`", param_hint="--url")
    if key_file is None:
        return key or ""
    try:
        with key_file.open(encoding="ascii") as opened:
            return opened.read(_KEY_FILE_MAX).strip()
    except (OSError, ValueError):
        problem = Problem(str(key_file), "input.unreadable", "the file of the key cannot be read")
    raise MalformedError("input.unreadable", [problem])


def _print_next() -> None:
    width = max(len(command) for command, _ in NEXT)
    lines = [f"  {_command()} {command.ljust(width)}  {what}" for command, what in NEXT]
    sys.stdout.write("\n".join(["", "Try next", *lines, ""]))


def _command() -> str:
    """Return how the person called us, so that what is printed can be pasted."""
    called = Path(sys.argv[0])
    return str(called) if called.parent.name == "bin" and ".venv" in called.parts else "avow"


def _replay_value(replay: Replayed) -> dict[str, object]:
    incident, answer = replay.incident, replay.answer
    value = {
        "id": incident.id,
        "title": incident.title,
        "when": incident.when,
        "what": incident.what,
        "source": incident.source,
        "at_least": incident.at_least.name,
        "decision": answer["decision"],
        "held": replay.held,
        "score": answer["risk"]["score"],
        "policy_triggered": answer["policy_triggered"],
        "reason": answer["reason"],
        "reasons": answer["risk"]["reasons"],
        "findings": answer["findings"],
    }
    # Where nobody journals, there is nothing to say about it.
    recorded = {"verdict_id": answer.get("verdict_id"), "journal": answer.get("journal")}
    return value | (recorded if "journal" in answer else {})


def _print_drill(replays: list[Replayed]) -> None:
    out = console.stdout()
    is_journalled = any(replay.position for replay in replays)
    listed = console.table(
        "when", "incident", "verdict", "risk", *(["entry"] if is_journalled else []), "because"
    )
    for replay in replays:
        rule = str(replay.answer["policy_triggered"]).partition(":")[0]
        because = Text(show(f"{rule} {replay.answer['reason']}"))
        if not replay.held:
            because.append(f"  (needed {replay.incident.at_least.name})", style="bold red")
        listed.add_row(
            replay.incident.when,
            replay.incident.title,
            console.outcome_text(replay.outcome),
            str(replay.answer["risk"]["score"]),
            *([str(replay.position)] if is_journalled else []),
            because,
        )
    out.print(listed)
    _print_sum(out, replays)


def _print_sum(out: Console, replays: list[Replayed]) -> None:
    counted = Counter(replay.outcome for replay in replays)
    told = ", ".join(f"{counted[outcome]} {outcome.name}" for outcome in sorted(counted))
    policies = {show(str(replay.answer["x_policy"]["name"])) for replay in replays}
    held = sum(replay.held for replay in replays)
    entries = sum(replay.position is not None for replay in replays)
    journalled = f" The journal holds {entries} of them." if entries else ""
    out.print()
    summary = f"{len(replays)} public incidents under policy {', '.join(sorted(policies))}: {told}."
    out.print(Text(summary, style="bold"))
    closing = f"{held} of {len(replays)} got at least what would have helped. Nothing ran."
    out.print(Text(closing + journalled))
    out.print(Text("Sources and full reasons: avow drill --json", style="dim"))
