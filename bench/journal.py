"""How fast the journal is written and verified, and how both grow; `make bench`.

Writing: commands per second through the group-commit writer at synchronous FULL, by number of callers,
beside the standard library's sqlite3 that commits every row at FULL, in turn on the same disk.
Verifying: entries per second of the stand-alone verifier, and the memory it needs, by size.
"""

import contextlib
import json
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from avow import settings
from avow.adapters.store.sqlite import FILE, SqliteStore
from avow.adapters.store.work import Work
from avow.adapters.store.writer import Writer
from avow.clients.verifier import verify
from avow.core import journal
from avow.wiring import archives
from tests import stores

if TYPE_CHECKING:
    from collections.abc import Callable

    from avow.wiring.archives import OpenArchive

HERE = Path(__file__).parent
CALLERS = (1, 16, 64)
SECONDS = 1.5
ROUNDS = 3
SIZES = (10_000, 100_000, 1_000_000)
NOTE = "x" * 600


def main() -> None:
    """Measure and write the results."""
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(verified(int(sys.argv[1]))))
        return
    result = {"append": appended(), "verify": [_apart(size) for size in SIZES]}
    (HERE / "results" / "journal.json").write_text(json.dumps(result, indent=1) + "\n")
    text = "\n".join(page(result)) + "\n"
    (HERE / "results" / "journal.md").write_text(text)
    sys.stdout.write(text)


def appended() -> dict[str, float]:
    """Return durable entries per second by number of callers, and of the peer; medians."""
    jobs: dict[str, Callable[[Path], float]] = {"sqlite3, a commit for each row": _peer}
    for callers in CALLERS:
        jobs[f"avow, {callers} callers"] = lambda folder, n=callers: _through_the_writer(folder, n)
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            folder = Path(tempfile.mkdtemp(dir=HERE))
            try:
                taken[name].append(job(folder))
            finally:
                shutil.rmtree(folder)
    return {name: round(statistics.median(rates)) for name, rates in taken.items()}


def _through_the_writer(folder: Path, callers: int) -> float:
    store = SqliteStore(folder)
    writer = Writer(store, stores.memory())
    counts = [0] * callers
    ends = time.monotonic() + SECONDS

    def command(work: Work) -> int:
        return work.journal.append({"kind": "bench", "note": NOTE}).position

    def caller(number: int) -> None:
        while time.monotonic() < ends:
            writer.call(command)
            counts[number] += 1

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(callers)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - start
    writer.close()
    store.close()
    return sum(counts) / took


def _peer(folder: Path) -> float:
    connection = sqlite3.connect(folder / "peer.sqlite", isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE entries (position INTEGER PRIMARY KEY, hash TEXT, body BLOB)")
    previous, position = journal.GENESIS, 0
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        position += 1
        entry = journal.link(position, previous, {"kind": "bench", "note": NOTE})
        row = (entry.position, entry.hash, entry.body)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
        previous = entry.hash
    connection.close()
    return position / SECONDS


def verified(size: int) -> dict[str, float]:
    """Return entries per second and megabytes needed to verify an export of that size."""
    with tempfile.NamedTemporaryFile(dir=HERE) as file:
        file.write(journal.export_header("bench"))
        previous = journal.GENESIS
        for position in range(1, size + 1):
            entry = journal.link(position, previous, {"kind": "bench", "note": NOTE[:300]})
            file.write(journal.exported(entry))
            previous = entry.hash
        file.flush()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        with Path(file.name).open("rb") as lines:
            report = verify(lines)
        took = time.monotonic() - start
    if not report.is_good or report.entries != size:
        raise AssertionError("a journal that was just written does not verify")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"entries": size, "per_second": round(size / took), "grown_mb": round(grown / 1024, 1)}


def _apart(size: int) -> dict[str, Any]:
    """Verify in a process of its own, so that its memory is its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "bench.journal", str(size)],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def size_of(data: Path) -> int:
    """Return how many entries the journal of a folder has, as of this moment."""
    raw = apsw.Connection(str(data / FILE), flags=apsw.SQLITE_OPEN_READONLY)
    with contextlib.closing(raw):
        return int(next(raw.execute("SELECT position FROM journal_heads"))[0])


def archive(data: Path, address: str = "sqlite") -> "OpenArchive[Any]":
    """Open the journal of a folder or a database for reading, as `avow journal` does."""
    flags = {"store.data": str(data), "store.url": address}
    return archives.opened(settings.load(environment={}, flags=flags))


def checked(data: Path, address: str = "sqlite") -> dict[str, Any]:
    """Verify a journal against the anchors and keys of a folder, and return what was found."""
    report = archive(data, address).verify()
    if not report.is_good:
        raise AssertionError(f"the journal does not verify: {report.problems[:3]}")
    return {
        "entries": report.entries,
        "anchors": report.anchors_good,
        "unanchored": report.unanchored,
    }


def page(result: dict[str, Any]) -> list[str]:
    """Return the page that docs quote."""
    return [
        "# The journal",
        "",
        "Durable at synchronous FULL; entries of about 700 bytes, chained and hashed into the tree.",
        "",
        "| writing | entries/s |",
        "| --- | --: |",
        *(f"| {name} | {rate} |" for name, rate in result["append"].items()),
        "",
        "| entries verified | entries/s | memory grown, MB |",
        "| --: | --: | --: |",
        *(f"| {v['entries']} | {v['per_second']} | {v['grown_mb']} |" for v in result["verify"]),
    ]


if __name__ == "__main__":
    main()
