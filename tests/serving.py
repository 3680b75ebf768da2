"""A real server for tests: a process of its own, on a free port, with a data folder of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Tests ask faster than any agent should.
WIDE = {
    "AVOW_RATE_BURST": "1000000",
    "AVOW_RATE_PER_MINUTE": "1000000",
    "AVOW_BREAKER_READ_MOST": "1000000",
    "AVOW_BREAKER_CHANGE_MOST": "1000000",
    "AVOW_BREAKER_DELETE_MOST": "1000000",
    "AVOW_BREAKER_AUTH_MOST": "1000000",
}


class Served(NamedTuple):
    """A server that listens: its address, the first admin's key, its process and folder."""

    address: str
    key: str
    process: subprocess.Popen
    data: Path

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.key}"}


def start(data, *arguments, environment=None, wide=True, log=None):
    """Start a server and wait until it listens; the caller ends it."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("AVOW_")}
    given |= (WIDE if wide else {}) | (environment or {})
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "avow",
            "up",
            "--json",
            "--port",
            "0",
            "--data",
            str(data),
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=log or subprocess.DEVNULL,
        env=given,
        text=True,
    )
    line = process.stdout.readline()
    if not line:
        process.wait(10)
        raise AssertionError(f"the server did not start: exit code {process.returncode}")
    told = json.loads(line)
    return Served(told["address"], told["admin_key"], process, Path(data))


def stop(served):
    """Stop a server in an orderly way and return its exit code."""
    served.process.send_signal(signal.SIGTERM)
    return served.process.wait(30)


@contextlib.contextmanager
def server(data, *arguments, **options):
    """Run a server for the length of a block."""
    served = start(data, *arguments, **options)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            stop(served)
        for stream in (served.process.stdout, served.process.stderr):
            if stream is not None:
                stream.close()
