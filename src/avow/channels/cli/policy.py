"""`avow policy`: look at a policy before it is in force."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from avow.channels.cli import console
from avow.channels.cli.options import EXIT_NOT_HELD, JsonFlag, PolicyName, desk
from avow.core.errors import MalformedError, Problem
from avow.core.policy import NEVER, Policy
from avow.core.untrusted import show
from avow.core.verdict import Verdict
from avow.core.words import Environment, Means
from avow.engine import trials
from avow.engine.judgement import Vouched

app = typer.Typer(help="Check and try policies before they are in force.", no_args_is_help=True)


@app.command()
def check(
    call: typer.Context,
    policy: Annotated[str, typer.Argument(help="a preset's name or a .toml file")],
    as_json: JsonFlag = False,
) -> None:
    """Load a policy as the judge would, show what it says, or list every problem.

    Exit code 2 if it cannot be used, among others because it is softer than the built-in
    policy without `allow_relaxing = true`.

    Example: `avow policy check policies/irl-0.1.toml`
    """
    loaded = desk(call).policies(policy)
    if as_json:
        console.print_json(_policy_value(loaded))
    else:
        _print_policy(loaded)


@app.command("test")
def try_cases(
    call: typer.Context,
    cases: Annotated[Path, typer.Argument(help="a .json or .toml file, or a folder of them")],
    policy: PolicyName = None,
    as_json: JsonFlag = False,
) -> int:
    """Judge records and compare with what is expected of them.

    Exit code 1 if any differs.

    Example: `avow policy test tests/vectors`
    """
    at = desk(call)

    listed = [trial for file in _files(cases) for trial in _trials(file)]
    # Loaded before anything is judged, so that a missing policy is not taken for a bad record.
    names = {policy or trial.policy or at.default_policy for trial in listed}
    loaded = {name: at.policies(name) for name in sorted(names)}

    def judge(trial: trials.Trial) -> Verdict:
        name = policy or trial.policy or at.default_policy
        vouched = Vouched(trust=trial.trust)
        return at.judge.judge(trial.record, policy=loaded[name], vouched=vouched)

    tried = [trials.run(trial, judge) for trial in listed]
    if as_json:
        console.print_json([_tried_value(entry) for entry in tried])
    else:
        _print_tried(tried)
    return 0 if all(entry.passed for entry in tried) else EXIT_NOT_HELD


def _files(cases: Path) -> list[Path]:
    if not cases.is_dir():
        return [cases]
    found = sorted(path for path in cases.iterdir() if path.suffix in (".json", ".toml"))
    if not found:
        problem = Problem(str(cases), "cases.invalid", "holds neither .json nor .toml files")
        raise MalformedError("cases.invalid", [problem])
    return found


def _trials(file: Path) -> tuple[trials.Trial, ...]:
    try:
        text = file.read_text(encoding="utf-8")
        parsed = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        told = "cannot be read" if not isinstance(error, ValueError) else str(error)
        raise MalformedError("cases.invalid", [Problem(str(file), "cases.invalid", told)]) from None
    return trials.read(parsed, str(file))


def _policy_value(policy: Policy) -> dict[str, Any]:
    return {
        "name": policy.name,
        "version": policy.version,
        "digest": policy.digest,
        "summary": policy.summary,
        "allow_relaxing": policy.allow_relaxing,
        "relaxes": list(policy.relaxes),
        "trust_source": policy.trust_source.value,
        "evidence": {
            "verified_from_hazard": policy.evidence_from_hazard,
            "backups_assumed_from_hazard": policy.backups_assumed_from_hazard,
            "rollback_needs_snapshot": policy.rollback_needs_snapshot,
        },
        "points": {point.name: point.points for point in policy.weights.listed()},
        "discounts": {trust.word: n for trust, n in policy.weights.discounts.items()},
        "bands": {b.level.word: [b.start, b.outcome.name] for b in policy.bands.bands},
        "matrix": None
        if policy.matrix is None
        else {f"{means} {place}": o.name for (means, place), o in policy.matrix.cells.items()},
        "rules": [
            {
                "id": rule.id,
                "slug": rule.slug,
                "outcome": rule.outcome.name,
                "step": rule.step,
                "says": rule.says,
                "when": rule.when.source,
            }
            for rule in policy.rules
        ],
    }


def _print_policy(policy: Policy) -> None:
    out = console.stdout()
    title = f"{policy.name} {policy.version}: {policy.summary}"
    out.print(Text(show(title), style="bold"))
    out.print(Text(f"digest {policy.digest}", style="dim"))
    out.print(_points(policy))
    for line in _switches(policy):
        out.print(Text(line))
    bands = console.table("score from", "level", "outcome", "rule")
    for band in policy.bands.bands:
        bands.add_row(str(band.start), band.level.word, band.outcome.name, f"{band.id} {band.slug}")
    out.print(bands)
    if policy.matrix is not None:
        matrix = console.table("at least", *Environment)
        for means in Means:
            cells = [policy.matrix.cells[means, environment].name for environment in Environment]
            matrix.add_row(means.value, *cells)
        out.print(matrix)
    rules = console.table("rule", "outcome", "says")
    for rule in policy.rules:
        outcome = "one step stricter" if rule.step else f"at least {rule.outcome.name}"
        rules.add_row(f"{rule.id} {rule.slug}", outcome, show(rule.says))
    out.print(rules)
    if policy.relaxes:
        out.print(Text("softer than the built-in policy, as it says itself:", style="yellow"))
        for phrase in policy.relaxes:
            out.print(Text(f"  {phrase}"))


def _points(policy: Policy) -> Table:
    listed = console.table("points", "")
    listed.columns[1].justify = "right"
    for point in policy.weights.listed():
        listed.add_row(point.name, f"{point.points:+d}")
    for trust, discount in policy.weights.discounts.items():
        if discount:
            listed.add_row(f"{trust.word} trust", f"{-discount:+d}")
    return listed


def _switches(policy: Policy) -> Iterator[str]:
    yield f"trust is the {policy.trust_source} one"
    for what, hazard in (
        ("verified needs evidence", policy.evidence_from_hazard),
        ("absent affects_backups counts as true", policy.backups_assumed_from_hazard),
    ):
        yield f"{what} from hazard {hazard} up" if hazard < NEVER else f"{what}: never"
    needs = "needs" if policy.rollback_needs_snapshot else "does not need"
    yield f"a rollback plan {needs} a known snapshot from hazard 3 up"


def _tried_value(entry: trials.Tried) -> dict[str, Any]:
    return {
        "name": entry.trial.name,
        "passed": entry.passed,
        "differences": [
            {"what": what, "expected": expected, "got": got}
            for what, expected, got in entry.differences
        ],
    }


def _print_tried(tried: list[trials.Tried]) -> None:
    out = console.stdout()
    failed = [entry for entry in tried if not entry.passed]
    if failed:
        listed = console.table("case", "what", "expected", "got")
        for entry in failed:
            for what, expected, got in entry.differences:
                listed.add_row(entry.trial.name, what, str(expected), str(got))
        out.print(listed)
    out.print(Text(f"{len(tried) - len(failed)} of {len(tried)} cases as expected", style="bold"))
