"""The volume tests in full, with progress: `make campaign`.

`python -m tests.campaign [differential|fuzz|mutants ...]` runs some of them. What `make check` runs is
a tenth of the fuzzing and a hundredth of the comparisons; the counts are printed at the end.
"""

import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests import kills, mutants, server_kills
from tests.fuzz import campaign as fuzz
from tests.fuzz.http import over_http
from tests.reference import differential

RESULTS = Path(__file__).parent.parent / "bench" / "results" / "campaign.json"
HEAD = """\
# The campaigns in full

Written by `make campaign`; what `make check` runs of it is a tenth and less.
"""
CORES = 2
COMPARISONS = 10_000_000
BODIES = 100_000
PIECE = 50_000
FUZZ_PIECE = 2_500
KILLS = 300
KILL_PIECE = 15


def compare_all(progress: Progress) -> str:
    """Compare product and reference model on ten million random records."""
    pieces = range(1000, 1000 + COMPARISONS // PIECE)
    counted = sum(_spread(progress, "comparisons", partial(_compare, count=PIECE), pieces))
    return f"differential: {counted:,} random records, no difference"


def fuzz_all(progress: Progress) -> str:
    """Give a hundred thousand bodies to the reader, the command line and a real server each."""
    pieces = range(2000, 2000 + BODIES // FUZZ_PIECE)
    told = []
    doors = {
        "reader": fuzz.at_the_reader,
        "command line": fuzz.at_the_command_line,
        "HTTP door": over_http,
    }
    for name, run in doors.items():
        ended: Counter[str] = Counter()
        for part in _spread(progress, name, partial(_fuzz, run=run, count=FUZZ_PIECE), pieces):
            ended += part
        shown = ", ".join(f"{count:,} {how}" for how, count in sorted(ended.items()))
        told.append(f"fuzz at the {name}: {ended.total():,} bodies: {shown}; no fault, no allow")
    return "\n".join(told)


def mutate_all(progress: Progress) -> str:
    """Break the product in every listed way and count what the tests notice."""
    listed = mutants.load()
    caught = list(_spread(progress, "mutants", mutants.is_caught, listed))
    missed = [m["property"] for m, found in zip(listed, caught, strict=True) if not found]
    if missed:
        raise AssertionError(f"not noticed: {missed}")
    return f"mutants: {len(listed)} of {len(listed)} turn the tests red"


def kill_all(progress: Progress) -> str:
    """Kill a process that writes to the journal three hundred times, at random moments."""
    pieces = range(3000, 3000 + KILLS // KILL_PIECE)
    each = _spread(progress, "kills", partial(_kill, count=KILL_PIECE), pieces)
    told = [f"kill -9 of a writer: {KILLS} times, {sum(each):,} acknowledged entries, none lost"]
    each = _spread(progress, "kills of a server", partial(_kill_server, count=KILL_PIECE), pieces)
    counted = sum(each)
    told.append(
        f"kill -9 of a server under load: {KILLS} times, {counted:,} acknowledged verdicts,"
        " none lost, the journal verified after each"
    )
    return "\n".join(told)


CAMPAIGNS = {
    "differential": compare_all,
    "fuzz": fuzz_all,
    "kills": kill_all,
    "mutants": mutate_all,
}


def _compare(seed, count):
    return differential.compare(seed, count)


def _kill(seed, count):
    return kills.survive(seed, count)


def _kill_server(seed, count):
    return server_kills.survive(seed, count)


def _fuzz(seed, run, count):
    return run(seed, count)


def _spread(progress, title, work, pieces):
    """Yield the results of all pieces in order, worked on by all cores."""
    task = progress.add_task(title, total=len(pieces))
    with ProcessPoolExecutor(CORES) as pool:
        for result in pool.map(work, pieces):
            progress.advance(task)
            yield result


def record(told: dict[str, str]) -> None:
    """Keep what was counted, beside what earlier runs of other campaigns counted."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept |= told
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    lines = [f"- {line}" for name in CAMPAIGNS for line in kept.get(name, "").splitlines()]
    RESULTS.with_suffix(".md").write_text("\n".join([HEAD, *lines]) + "\n")


def main() -> None:
    """Run the campaigns named, or all of them."""
    wanted = sys.argv[1:] or list(CAMPAIGNS)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn()) as progress:
        for name in wanted:
            start = time.monotonic()
            line = f"{CAMPAIGNS[name](progress)} ({time.monotonic() - start:.0f} s)"
            record({name: line})
            progress.print(line)


if __name__ == "__main__":
    main()
