"""Data folders for tests, filled by a real server, and the command line called in process."""

import contextlib
import hashlib
import io
import json
import sys
from typing import NamedTuple

import apsw
import httpx

from avow import wiring
from avow.channels.cli.app import run
from avow.core import journal, merkle
from tests import serving
from tests.records import body, record

GOAL = "kestrel-declared-goal"


class Called(NamedTuple):
    """What a command returned and printed."""

    code: int
    out: str
    err: str

    @property
    def value(self):
        return json.loads(self.out)


def avow(*arguments):
    """Run the command line in process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "ab")
    before = sys.stdin
    sys.stdin = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run([str(one) for one in arguments], wiring.desk)
    finally:
        sys.stdin = before
    return Called(code, *(one.buffer.getvalue().decode() for one in (out, err)))


def fill(folder, count=50, *arguments):
    """Have a real server write a journal with that many verdicts, and stop it."""
    with serving.server(folder, *arguments) as served:
        declare(served, count)
    return served.key


def declare(served, count):
    """Send records and return the answers."""
    with httpx.Client(base_url=served.address, headers=served.headers, timeout=30) as client:
        answers = []
        for number in range(count):
            said = record(id=f"bot-{number % 3}", stated_goal=f"{GOAL} {number}")
            answer = client.post("/v1/evaluate", content=body(said))
            assert answer.status_code == 200, answer.text
            answers.append(answer.json())
        return answers


def looks(folder):
    """Return everything about the files of a folder that writing to them would change."""
    return {
        path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.iterdir()
    }


@contextlib.contextmanager
def opened(folder):
    """Open the database as somebody who does not care for the rules of the house."""
    connection = apsw.Connection(str(folder / "avow.sqlite"))
    for name in ("stay", "keep"):
        for table in ("journal_entries", "journal_nodes"):
            connection.execute(f"DROP TRIGGER IF EXISTS {table}_{name}")
    try:
        yield connection
    finally:
        connection.close()


def cut(folder, count):
    """Delete the last entries and make the head fit."""
    with opened(folder) as connection:
        [(size,)] = connection.execute("SELECT position FROM journal_heads")
        connection.execute("DELETE FROM journal_entries WHERE position > ?", (size - count,))
        _relink(connection, lambda content: content)
    return size - count


def rewrite(folder, change):
    """Change the content of entries and recompute every hash, node and head behind it."""
    with opened(folder) as connection:
        _relink(connection, change)


def _relink(connection, change):
    rows = list(connection.execute("SELECT position, body FROM journal_entries ORDER BY position"))
    connection.execute("DELETE FROM journal_nodes")
    previous, frontier = journal.GENESIS, merkle.Frontier()
    for position, stored in rows:
        content = change(json.loads(stored))
        content.pop("n")
        entry = journal.link(position, previous, content)
        connection.execute(
            "UPDATE journal_entries SET hash = ?, body = ? WHERE position = ?",
            (entry.hash, entry.body, position),
        )
        frontier, made = frontier.grown(merkle.leaf(bytes.fromhex(entry.hash)))
        for node in made:
            if node.level % 4 == 0:
                connection.execute(
                    "INSERT INTO journal_nodes VALUES ('main', ?, ?, ?)", tuple(node)
                )
        previous = entry.hash
    connection.execute(
        "UPDATE journal_heads SET position = ?, hash = ?, frontier = ?",
        (len(rows), previous, b"".join(frontier.roots)),
    )
