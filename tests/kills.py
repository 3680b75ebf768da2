"""A process that writes to the journal, killed at random moments: nothing acknowledged may be lost."""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from avow.adapters.store import journal
from avow.adapters.store.sqlite import SqliteStore
from avow.clients.verifier import verify
from avow.core import journal as chain

WRITER = """
import sys
from pathlib import Path
from avow.adapters.store.sqlite import SqliteStore
from tests import stores
writer = stores.writer(SqliteStore(Path(sys.argv[1])))
def command(work):
    return work.journal.append({"kind": "kill", "note": "x" * 200}).position
while True:
    for future in [writer.future(command) for _ in range(5)]:
        print(future.result(), flush=True)
"""


def survive(seed: int, count: int) -> int:
    """Kill a writer that many times, checking after each; return how much was acknowledged."""
    source, acknowledged = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            acknowledged = max(acknowledged, _killed(Path(folder), source.random() * 0.2))
            store = SqliteStore(Path(folder))
            report = verify(_export(store))
            store.close()
            if report.problems or report.entries < acknowledged:
                raise AssertionError(f"seed {seed}: {acknowledged} acknowledged, {report}")
    return acknowledged


def _killed(folder: Path, after_s: float) -> int:
    """Let a writer run for a while, kill it, and return the last position it acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        first = process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        printed = (first + process.stdout.read()).split()
    return max(map(int, printed), default=0)


def _export(store: SqliteStore) -> list[bytes]:
    lines, after = [chain.export_header("kills")], 0
    with store.reader() as connection:
        while found := journal.entries(connection, "main", after=after):
            lines += [chain.exported(entry) for entry in found]
            after = found[-1].position
    return lines
