"""Backups and restoring, from each database to each."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import psycopg
import pytest

from avow.adapters.store import copying, journal, sqlite
from avow.adapters.store.copying import backup, restore
from avow.adapters.store.postgres import PostgresConnection, PostgresStore
from avow.adapters.store.sqlite import SqliteStore
from avow.clients.verifier import verify
from avow.core import journal as chain
from avow.core import merkle
from avow.core.errors import FaultError, MalformedError

TENANT = "main"
FILE = "avow.sqlite"
WAIT_S = 20


def append(store, count, note="x"):
    """Link entries to the end and return the head, by the means of the core alone."""
    with store.transaction() as connection:
        position, last, frontier = journal.head(connection, TENANT)
        rows = []
        for _ in range(count):
            entry = chain.link(position + 1, last, {"kind": "test", "note": note})
            position, last = entry.position, entry.hash
            frontier, _ = frontier.grown(merkle.leaf(bytes.fromhex(last)))
            rows.append((TENANT, position, last, entry.body))
        connection.insert("journal_entries", ("tenant", "position", "hash", "body"), rows)
        connection.change("DELETE FROM journal_heads WHERE tenant = ?", TENANT)
        head = (TENANT, position, last, b"".join(frontier.roots))
        connection.insert("journal_heads", ("tenant", "position", "hash", "frontier"), [head])
    return position, last


def fill(store, count=2_345):
    """Write more than two chunks of entries and, in other tables, what is hard to copy."""
    head = append(store, count, note="Grüße 🌍")
    with store.transaction() as connection:
        connection.insert(
            "journal_texts",
            ("tenant", "position", "field", "salt", "text"),
            [
                (TENANT, n, f, bytes([n, 0, 255]), f"é\n'{n}")
                for n in (1, 2)
                for f in ("A", "a", "_")
            ],
        )
        connection.insert(
            "agents",
            ("tenant", "id", "trust", "key_digest", "did", "added_ms", "revoked_ms"),
            [
                (TENANT, "agent", "high", "a", None, 2**53, None),
                ("other", "agent", "low", "b", "did:key:z", 1, 2),
            ],
        )
    return head


def state(store):
    """Return everything in a store, apart from what it fills itself."""
    with store.reader() as connection:
        return {
            table.name: {
                frozenset(zip(table.columns, row, strict=True))
                for row in connection.rows(f"SELECT {', '.join(table.columns)} FROM {table.name}")  # noqa: S608 - our own names
            }
            for table in copying._tables(connection)
        }


def checked(store):
    """Verify the whole journal as a stranger would and return its head."""
    with store.reader() as connection:
        lines, after = [chain.export_header("o")], 0
        while found := journal.entries(connection, TENANT, after=after):
            lines += [chain.exported(entry) for entry in found]
            after = found[-1].position
        head = journal.head(connection, TENANT)
    report = verify(lines)
    assert report.problems == []
    assert (report.entries, report.head) == head[:2]
    return report.entries, report.head


@contextlib.contextmanager
def opened(folder):
    with contextlib.closing(SqliteStore(folder)) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    """Make another, empty store."""
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "target")
    else:
        made = PostgresStore(request.getfixturevalue("another"))
    yield made
    made.close()


@pytest.fixture
def another(server):
    """Make one more database beside that of `address`."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.get_uri(name)


def test_everything_goes_from_each_database_to_each(store, target, tmp_path, monkeypatch):
    """Backed up and restored, every table is the same, the journal verifies, and it goes on."""
    # An estimate that is too high: progress ends all the same at everything of everything.
    monkeypatch.setattr(PostgresConnection, "size", lambda *_: 999)
    head = fill(store)
    heard, heard_back = [], []
    backup(store, tmp_path / "copy", lambda *told: heard.append(told))
    assert [path.name for path in (tmp_path / "copy").iterdir()] == [FILE]
    restore(tmp_path / "copy", target, lambda *told: heard_back.append(told))
    assert state(target) == state(store)
    assert checked(target) == head
    for told in (heard, heard_back):
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert all(done <= total for done, total in told)
        assert told[-1][0] == told[-1][1] > 0
    append(target, 1)
    assert checked(target)[0] == head[0] + 1


def test_a_backup_is_a_store_of_its_own(store, tmp_path):
    """The file opens as a store, with all that was in it; only its owner may read it."""
    head = fill(store, 10)
    backup(store, tmp_path / "copy")
    assert (tmp_path / "copy" / FILE).stat().st_mode & 0o077 == 0
    with opened(tmp_path / "copy") as copy:
        assert state(copy) == state(store)
        assert checked(copy) == head


def test_an_empty_store_has_an_empty_backup(store, target, tmp_path):
    """Nothing is copied, and nothing breaks."""
    backup(store, tmp_path / "copy")
    restore(tmp_path / "copy", target)
    assert checked(target)[0] == 0


def test_a_backup_while_others_write_holds_one_state(store, tmp_path, monkeypatch):
    """The copy never starts anew, it verifies, and its head is one that was committed."""
    monkeypatch.setattr(sqlite, "_STEP_PAGES", 40)
    heads = {append(store, 3_000)}
    stop, wrote = threading.Event(), threading.Event()
    told = [0]

    def keep_writing():
        while not stop.is_set():
            heads.add(append(store, 3))
            wrote.set()

    def in_between(done, _total):
        assert done >= told[-1]
        assert len(told) < 100
        told.append(done)
        # Goes on only after one more commit: each step finds a changed database.
        wrote.clear()
        assert wrote.wait(WAIT_S)

    thread = threading.Thread(target=keep_writing)
    thread.start()
    try:
        assert wrote.wait(WAIT_S)
        backup(store, tmp_path / "copy", in_between)
    finally:
        stop.set()
        thread.join()
    assert len(told) > 4
    with opened(tmp_path / "copy") as copy:
        copied = checked(copy)
    assert copied in heads
    assert copied[0] < checked(store)[0]


def test_a_backup_gets_its_name_when_it_is_on_the_disk(store, tmp_path, monkeypatch):
    """First the file is made durable, then it is named, then the name is; a failing disk leaves none."""
    events = []
    fsync, rename = os.fsync, Path.rename

    def record(handle):
        events.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def record_name(self, target):
        events.append("named")
        return rename(self, target)

    def fail(_handle):
        raise OSError("as a disk would")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FaultError):
        backup(store, tmp_path / "deep" / "copy")
    assert list((tmp_path / "deep" / "copy").iterdir()) == []
    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(Path, "rename", record_name)
    backup(store, tmp_path / "deep" / "copy")
    assert events == [f"{FILE}.partial", "named", "copy", "deep"]


def test_tables_come_behind_those_they_refer_to(tmp_path):
    """A row is copied after the row it refers to, whatever their tables are called."""
    with opened(tmp_path) as store, store.transaction() as connection:
        connection.change("CREATE TABLE zebra (id BIGINT PRIMARY KEY)")
        connection.change(
            "CREATE TABLE ape (id BIGINT, behind BIGINT REFERENCES zebra (id), PRIMARY KEY (behind, id))"
        )
        found = {table.name: table for table in connection.tables()}
    assert list(found).index("zebra") < list(found).index("ape")
    assert found["ape"] == ("ape", ("id", "behind"), ("behind", "id"))


def test_a_folder_with_something_in_it_is_left_alone(store, tmp_path):
    """Neither a folder that holds a file nor a file in its place is written to."""
    (tmp_path / "notes.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(MalformedError) as caught:
            backup(store, place)
        assert caught.value.code == "backup.not_empty"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / FILE).exists()


def test_a_store_with_something_in_it_is_left_alone(store, target, tmp_path):
    """A journal, or a single row anywhere, refuses; the store is what it was."""
    fill(store, 5)
    backup(store, tmp_path / "copy")
    with target.transaction() as connection:
        connection.insert(
            "agents",
            ("tenant", "id", "trust", "key_digest", "added_ms"),
            [("elsewhere", "agent", "low", "c", 1)],
        )
    before = state(target)
    with pytest.raises(MalformedError) as caught:
        restore(tmp_path / "copy", target)
    assert caught.value.code == "backup.not_empty"
    assert "`agents`" in caught.value.message
    assert state(target) == before


def test_restoring_is_all_or_nothing(store, target, tmp_path):
    """What fails in the middle leaves an empty store, into which it can be tried again."""
    fill(store)
    backup(store, tmp_path / "copy")
    before = state(target)

    def fail(done, _total):
        if done > 1_500:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        restore(tmp_path / "copy", target, fail)
    assert state(target) == before
    restore(tmp_path / "copy", target)
    assert state(target) == state(store)


def test_a_backup_that_fails_leaves_nothing(store, tmp_path):
    """The folder is empty again, so that it can be tried again."""
    fill(store, 5)

    def fail(_done, _total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        backup(store, tmp_path / "copy", fail)
    assert list((tmp_path / "copy").iterdir()) == []
    backup(store, tmp_path / "copy")


OTHER_VERSIONS = (
    "UPDATE migrations SET checksum = 'other' WHERE number = 1",
    "UPDATE migrations SET checksum = 'other' WHERE number = 2",
    "INSERT INTO migrations (number, checksum) VALUES (9999, 'x')",
    "DELETE FROM migrations WHERE number = 3",
    "CREATE TABLE more (id BIGINT PRIMARY KEY)",
    'CREATE TABLE "agents; --" (id BIGINT PRIMARY KEY)',
    "ALTER TABLE agents ADD COLUMN more TEXT",
    "DROP TABLE migrations",
)


def test_a_backup_of_another_version_is_refused(target, tmp_path):
    """Other migrations, tables or columns than this program's go into no store."""
    with opened(tmp_path / "data") as store:
        append(store, 3)
        backup(store, tmp_path / "copy")
    for change in OTHER_VERSIONS:
        shutil.copy(tmp_path / "copy" / FILE, tmp_path / FILE)
        raw = apsw.Connection(str(tmp_path / FILE))
        raw.execute(change)
        raw.close()
        with pytest.raises(FaultError) as caught:
            restore(tmp_path, target)
        assert caught.value.code == "store.incompatible", change
    assert checked(target)[0] == 0


def test_what_is_no_backup_or_a_damaged_one_is_refused(target, tmp_path):
    """A missing file, another file, and one with a torn page are told apart from a good one."""
    with pytest.raises(MalformedError, match="there is no backup"):
        restore(tmp_path / "nowhere", target)
    path = tmp_path / FILE
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(MalformedError, match="damaged"):
        restore(tmp_path, target)
    with opened(tmp_path / "data") as store:
        append(store, 500)
        backup(store, tmp_path / "copy")
    whole = (tmp_path / "copy" / FILE).read_bytes()
    at = 4_096 * 20
    path.write_bytes(whole[:at] + bytes(4_096) + whole[at + 4_096 :])
    with pytest.raises(MalformedError, match="damaged"):
        restore(tmp_path, target)
    assert checked(target)[0] == 0


INTERRUPTED = """
import sys
from pathlib import Path
from avow.adapters.store.copying import backup
from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.sqlite import SqliteStore
where = sys.argv[1]
store = PostgresStore(where) if "://" in where else SqliteStore(Path(where))
def in_between(done, total):
    if done:
        print("in between", flush=True)
        sys.stdin.read()
backup(store, Path(sys.argv[2]), in_between)
"""


def test_a_backup_that_was_killed_is_none(store, target, tmp_path, request):
    """Killed in the middle, it leaves no file that bears the name of a backup or restores as one."""
    fill(store)
    here = isinstance(store, SqliteStore)
    where = tmp_path / "data" if here else request.getfixturevalue("address")
    folder = tmp_path / "copy"
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(where), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"in between\n"
        process.send_signal(signal.SIGKILL)
    assert list(folder.iterdir())
    assert not (folder / FILE).exists()
    with pytest.raises(MalformedError):
        restore(folder, target)
    with pytest.raises(MalformedError):
        backup(store, folder)
    assert checked(target)[0] == 0
