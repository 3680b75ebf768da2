"""How costs grow: a judgement with rules and bytes, the server with the verdicts it has given.

The first is a part of `bench.run`. The second is a run of its own: one server under load until its
journal holds 10^4, 10^5 and 10^6 entries, and at each its memory, the size of its database and how
fast that very journal is verified. `AVOW_BENCH=quick` stops at a tenth and writes no results.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import avow
from avow import data
from avow.adapters.store.sqlite import FILE
from avow.clients import ed25519
from avow.clients.verifier import Report, verify
from avow.core import policy_reading
from avow.core.policy import Policy
from bench import http
from bench import journal as journals
from tests import serving

RULES = (11, 50, 100, 200, 400)
BYTES = (0, 1_000, 4_000, 8_000)
MARKS = (1_000, 10_000, 100_000) if http.QUICK else (10_000, 100_000, 1_000_000)
CONNECTIONS, AGENTS, RESOURCES, IN_SESSION = 16, 50, 2_000, 100
GROWN_MB_MAX, VERIFIED_LEAST = 20, 100_000
# The memory that is looked at is what stays once the load has ended and its last anchor is written.
_SETTLED_S = 2.0
_VARIED = """
local n = %d
function request()
  n = n + 1
  local rest = math.floor(n / %d)
  return wrk.format(nil, nil, nil, string.format([==[%s]==], n %% %d, math.floor(n / %d), rest %% %d))
end
"""


def main() -> None:
    """Grow a journal, look at every mark, and write the results; or verify a folder's, told so."""
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(verified(Path(sys.argv[1]))))
        return
    if http.missing_wrk("growth"):
        return
    with tempfile.TemporaryDirectory(dir=http.PLACE) as folder:
        found = Path(folder) / "data"
        with http.server(found) as served:
            marks = [grown(served, mark) for mark in MARKS]
        journal = journals.checked(found)
    result = {"machine": http.machine(), "marks": marks, "journal": journal}
    http.write("growth", result, page(result))


def grown(served: serving.Served, mark: int) -> dict[str, float]:
    """Load until the journal holds so many entries, and return what it takes then."""
    before, began = journals.size_of(served.data), time.monotonic()
    load = http.Load(
        address=f"{served.address}/v1/evaluate",
        body=b"",
        headers=served.headers,
        script=lambda: _varied(before),
    )
    with load.running(CONNECTIONS) as running:
        while (now := journals.size_of(served.data)) < mark and running.process.poll() is None:
            http.tell(f"{now} of {mark} entries")
            time.sleep(0.1)
        took = time.monotonic() - began
        running.stop()
        running.ended()
    http.tell(f"verifying {mark} entries")
    time.sleep(_SETTLED_S)
    process_id = served.process.pid
    return {
        "entries": journals.size_of(served.data),
        "per_second": round((now - before) / took),
        "rss_mb": http.rss_mb(process_id),
        "anonymous_mb": http.rss_mb(process_id, "RssAnon"),
        "peak_mb": http.rss_mb(process_id, "VmHWM"),
        "database_mb": round((served.data / FILE).stat().st_size / 1e6, 1),
        "log_mb": round((served.data / f"{FILE}-wal").stat().st_size / 1e6, 1),
        "verify": _apart(served.data),
    }


def _varied(start: int) -> str:
    """Return a load of many agents, resources and sessions, going on from where it was."""
    record = json.loads((http.ROOT / "examples" / "read.json").read_bytes())
    record["agent"] |= {"id": "agent-%d", "session_id": "session-%d"}
    record["operation"]["target_resource"] = "table:staging/orders-%d"
    return _VARIED % (start, AGENTS, json.dumps(record), AGENTS, IN_SESSION, RESOURCES)


def verified(folder: Path) -> dict[str, Any]:
    """Return how fast a journal is verified: from an export, from its database, and in full."""
    archive = journals.archive(folder)

    def streamed() -> Iterator[bytes]:
        return (line for part in archive.export() for line in part.splitlines(keepends=True))

    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.writelines(archive.export())
        file.flush()
        ways: dict[str, Callable[[], Report]] = {
            "export": lambda: verify(file),
            "database": lambda: verify(streamed()),
            "full": archive.verify,
        }
        found: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(http.ROUNDS):
            for name, way in ways.items():
                file.seek(0)
                # Nobody verifies the same journal twice in one process.
                ed25519.is_valid.cache_clear()
                start = time.monotonic()
                report = way()
                found[name].append(report.entries / (time.monotonic() - start))
                if not report.is_good:
                    raise AssertionError(f"the journal does not verify: {report.problems[:3]}")
    rates = {name: round(statistics.median(rounds)) for name, rounds in found.items()}
    return rates | {"entries": report.entries, "anchors": report.anchors_good}


def _apart(folder: Path) -> dict[str, Any]:
    """Verify in a process of its own, as a stranger would."""
    ended = subprocess.run(
        [sys.executable, "-m", "bench.growth", str(folder)],
        cwd=http.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def page(result: dict[str, Any]) -> Iterator[str]:
    """Yield the page that docs quote."""
    marks, journal = result["marks"], result["journal"]
    grew = round(marks[-1]["rss_mb"] - marks[0]["rss_mb"], 1)
    least = {
        name: min(mark["verify"][name] for mark in marks) for name in ("export", "database", "full")
    }
    yield "# The server as its journal grows"
    yield ""
    yield http.told_machine(result)
    yield f"One server process under {CONNECTIONS} connections; {AGENTS} agents and {RESOURCES:,} resources in turn, a new session every {IN_SESSION} requests, all allowed and recorded."
    yield "Memory is what the kernel counts for the process two seconds after the load paused; the peak is the highest it ever had."
    yield ""
    told = "met" if grew <= GROWN_MB_MAX else "not met"
    yield f"Required: memory grows by at most {GROWN_MB_MAX} MB from the first row to the last. Measured: {grew} MB, {told}."
    told = "met" if least["export"] >= VERIFIED_LEAST else "not met"
    yield f"Required: {VERIFIED_LEAST:,} entries a second verified. Measured from an export, at the slowest: {least['export']:,}, {told}; streamed from the database {least['database']:,}, and in full {least['full']:,}."
    yield ""
    yield "| entries | entries/s written | memory MB | of it anonymous | peak MB | database MB | write-ahead log MB |"
    yield "| --: | --: | --: | --: | --: | --: | --: |"
    for mark in marks:
        yield f"| {mark['entries']:,} | {mark['per_second']:,} | {mark['rss_mb']} | {mark['anonymous_mb']} | {mark['peak_mb']} | {mark['database_mb']} | {mark['log_mb']} |"
    yield ""
    yield f"How fast that very journal is verified, in entries a second, medians of {http.ROUNDS}: chain and tree from an export file; the same streamed from the database; and in full, as `avow journal verify` does it, with the signature of every checkpoint in plain Python and every text beside the chain."
    yield ""
    yield "| entries | export | database | in full | checkpoints |"
    yield "| --: | --: | --: | --: | --: |"
    for one in (mark["verify"] for mark in marks):
        yield f"| {one['entries']:,} | {one['export']:,} | {one['database']:,} | {one['full']:,} | {one['anchors']:,} |"
    yield ""
    yield f"After the stop: {journal['entries']:,} entries, verified against {journal['anchors']:,} signed checkpoints, {journal['unanchored']} unanchored."
    yield "Not measured: a journal larger than the machine's memory, and a disk that is not this one."


def over_rules(body: bytes, measure: Callable[..., Any]) -> dict[str, float]:
    """Return the time by number of rules; each looks at the resource, so nothing is remembered."""
    figures = {}
    for count in RULES:
        grown = _with_rules(count)
        taken = measure({"avow": lambda grown=grown: avow.evaluate(body, policy=grown)}, rounds=7)
        figures[str(len(grown.rules))] = round(statistics.median(taken["avow"]), 1)
    return figures


def over_bytes(policy: Policy, body: bytes, measure: Callable[..., Any]) -> dict[str, float]:
    """Return the time by size of the record, which grows by its stated goal."""
    figures = {}
    for more in BYTES:
        record = json.loads(body)
        record["rationale"]["stated_goal"] += "x" * more
        grown = json.dumps(record).encode()
        taken = measure({"avow": lambda grown=grown: avow.evaluate(grown, policy=policy)}, rounds=7)
        figures[str(len(grown))] = round(statistics.median(taken["avow"]), 1)
    return figures


def _with_rules(count: int) -> Policy:
    source = tomllib.loads(data.read("policies", "default.toml").decode())
    for number in range(count - len(source["rules"])):
        source["rules"].append(
            {
                "id": f"POL-{1000 + number}",
                "slug": "own",
                "outcome": "GATE",
                "says": "own",
                "when": {
                    "all": [
                        {"field": "resource", "under": f"table:t{number}"},
                        {"field": "environment", "is": "production"},
                    ]
                },
            }
        )
    return policy_reading.read(source)


if __name__ == "__main__":
    main()
