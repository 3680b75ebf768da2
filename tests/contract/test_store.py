"""The contract of a store: one suite, run against every database that claims to be one."""

import json
import threading

import apsw
import pytest

from avow.adapters.store import journal, migration, sqlite
from avow.adapters.store.batch import Batch
from avow.adapters.store.journal import JournalAppender
from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.sqlite import SqliteStore
from avow.adapters.store.work import Work
from avow.clients.verifier import verify
from avow.core import journal as chain
from avow.core import merkle
from avow.core.errors import FaultError
from avow.core.journal import Erasable
from tests import kills, stores

TENANT = "main"


def append(store, count, tenant=TENANT, note="x"):
    with store.transaction() as connection:
        appender = JournalAppender(Batch(connection), tenant)
        for number in range(count):
            appender.append({"kind": "test", "number": number, "note": note})
        appender.flush()


def export(store, tenant=TENANT):
    with store.reader() as connection:
        lines, after = [chain.export_header("o")], 0
        while found := journal.entries(connection, tenant, after=after, most=7):
            lines += [chain.exported(entry) for entry in found]
            after = found[-1].position
    return lines


def test_entries_are_linked_across_transactions(store):
    """Positions count on, hashes link, and an outsider verifies the whole."""
    for count in (1, 3, 0, 20):
        append(store, count)
    report = verify(export(store))
    assert (report.problems, report.entries) == ([], 24)
    with store.reader() as connection:
        head = journal.head(connection, TENANT)
    assert (head.position, head.hash) == (24, report.head)


def test_a_transaction_that_raises_leaves_nothing(store):
    """Neither rows nor head move when the body fails."""
    append(store, 2)

    def fail():
        with store.transaction() as connection:
            appender = JournalAppender(Batch(connection), TENANT)
            appender.append({"kind": "lost"})
            appender.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert verify(export(store)).entries == 2
    append(store, 1)
    assert verify(export(store)).problems == []


def test_a_part_that_raises_takes_its_entries_back(store):
    """What failed leaves no entry and no gap; what stood before and after it stays."""
    with store.transaction() as connection:
        work = Work(connection, stores.memory())
        work.journal.append({"kind": "before"})

        def failing(flush):
            work.journal.append({"kind": "lost"}, [Erasable("text", b"s" * 16, "lost")])
            if flush:
                work.batch.flush()
            raise ZeroDivisionError

        for flush in (False, True, False):
            with pytest.raises(ZeroDivisionError):
                work.run(lambda _, flush=flush: failing(flush))
        work.run(lambda work: work.journal.append({"kind": "after"}))
        work.finish()
    lines = export(store)
    assert [json.loads(line.split(b" ", 2)[2])["kind"] for line in lines[1:]] == ["before", "after"]
    assert verify(lines).problems == []


def test_tenants_have_journals_of_their_own(store):
    """One tenant's entries neither count nor show in another's."""
    append(store, 3)
    append(store, 5, tenant="other")
    assert verify(export(store)).entries == 3
    assert verify(export(store, "other")).entries == 5


@pytest.mark.clause("IRL-6.03")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal_entries SET body = 'x'",
        "DELETE FROM journal_entries",
        "UPDATE journal_nodes SET hash = 'x'",
        "DELETE FROM journal_nodes",
    ],
)
def test_entries_are_never_changed_or_deleted(store, statement):
    """The database itself refuses it, whoever asks."""
    append(store, 40)
    with pytest.raises(FaultError), store.transaction() as connection:
        connection.change(statement)
    assert verify(export(store)).entries == 40


@pytest.mark.clause("IRL-6.03")
def test_a_byte_flipped_in_the_file_is_named(tmp_path):
    """Past every trigger, a changed body is found, at its entry."""
    made = SqliteStore(tmp_path)
    append(made, 9, note="MARKER")
    made.close()
    raw = apsw.Connection(str(tmp_path / "avow.sqlite"))
    raw.execute("DROP TRIGGER journal_entries_keep")
    raw.execute(
        "UPDATE journal_entries SET body = CAST(replace(body, 'MARKER', 'MERKER') AS BLOB)"
        " WHERE position = 5"
    )
    raw.close()
    reopened = SqliteStore(tmp_path)
    assert verify(export(reopened)).problems == [
        "entry 5 is not what was written: its hash does not fit"
    ]
    reopened.close()


def test_erasing_a_text_keeps_the_chain(store):
    """The text is gone, its digest and every hash stay; a kept text fits its digest."""
    with store.transaction() as connection:
        appender = JournalAppender(Batch(connection), TENANT)
        for number in range(2):
            appender.append({"kind": "x"}, [Erasable("goal", bytes([number]) * 16, "a secret")])
        appender.flush()
    before = export(store)
    with store.transaction() as connection:
        assert journal.erase(connection, TENANT, 1, "goal")
        assert not journal.erase(connection, TENANT, 1, "goal")
    with store.reader() as connection:
        assert journal.text(connection, TENANT, 1, "goal") is None
        kept = journal.text(connection, TENANT, 2, "goal")
    assert export(store) == before
    assert json.loads(before[2].split(b" ", 2)[2])["goal"] == {"sha256": kept.digest}
    assert b"a secret" not in b"".join(before)


def test_proofs_come_from_stored_nodes(store):
    """Inclusion and consistency proofs of a journal of 300 entries check against its roots."""
    sizes, roots = (1, 16, 100, 255, 256, 300), {}
    for size in sizes:
        with store.reader() as connection:
            done = journal.head(connection, TENANT).position
        append(store, size - done)
        with store.reader() as connection:
            roots[size] = journal.head(connection, TENANT).frontier.root()
    with store.reader() as connection:
        fetch = journal.fetcher(connection, TENANT)
        leaves = [merkle.leaf(bytes.fromhex(e.hash)) for e in journal.entries(connection, TENANT)]
        for index in (0, 15, 16, 255, 256, 299):
            path = merkle.inclusion(index, 300, fetch)
            assert merkle.includes(leaves[index], index=index, size=300, path=path, root=roots[300])
        for first in sizes:
            path = merkle.consistency(first, 300, fetch)
            assert merkle.extends(
                first=first, second=300, first_root=roots[first], second_root=roots[300], path=path
            )


def test_a_reader_sees_one_state_while_others_write(store):
    """What is committed after a reader began does not reach it."""
    append(store, 2)
    with store.reader() as connection:
        assert journal.head(connection, TENANT).position == 2
        append(store, 3)
        assert journal.head(connection, TENANT).position == 2
        with pytest.raises(FaultError):
            connection.change("DELETE FROM journal_texts")
    with store.reader() as connection:
        assert journal.head(connection, TENANT).position == 5


def test_many_callers_share_commits_and_get_their_own_answers(store):
    """Hundreds of commands from many threads: each gets its position once, none is lost."""
    writer = stores.writer(store)

    def command(work):
        return work.journal.append({"kind": "shared"}).position

    futures = []

    def caller():
        futures.extend([writer.future(command) for _ in range(50)])

    threads = [threading.Thread(target=caller) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    positions = sorted(future.result(timeout=30) for future in futures)
    writer.close()
    assert positions == list(range(1, 401))
    assert verify(export(store)).problems == []


def test_a_command_that_fails_does_not_touch_its_neighbours(store):
    """Its caller gets its error, its rows and entries are gone, the others are committed."""
    writer = stores.writer(store)

    def good(work):
        return work.journal.append({"kind": "good"}).position

    def bad(work):
        work.journal.append({"kind": "bad"})
        raise LookupError("mine alone")

    futures = [writer.future(command) for command in (good, bad, good, bad, good)]
    with pytest.raises(LookupError, match="mine alone"):
        futures[1].result(timeout=10)
    assert [futures[n].result(timeout=10) for n in (0, 2, 4)] == [1, 2, 3]
    writer.close()
    assert verify(export(store)).entries == 3
    with pytest.raises(FaultError):
        writer.future(good).result(timeout=10)


def test_a_caller_who_gives_up_does_not_stop_the_writer(store):
    """A command whose caller gave up is executed all the same, and others are served."""
    writer = stores.writer(store)
    _, last = stores.together(
        writer, stores.note, stores.note, before=lambda futures: futures[0].cancel()
    )
    assert last.result(timeout=10) == 3
    writer.close()


def test_when_the_commit_fails_nobody_is_told_otherwise(store, monkeypatch):
    """A store that fails at the end of the transaction fails every command in it."""
    writer = stores.writer(store)

    def good(work):
        return work.journal.append({"kind": "good"}).position

    def failing(_self):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(JournalAppender, "flush", failing)
        with pytest.raises(FaultError) as caught:
            writer.future(good).result(timeout=10)
    assert caught.value.code == "store.unavailable"
    assert writer.future(good).result(timeout=10) == 1

    def breaks(work):
        work.batch.rows("SELECT nothing FROM nowhere")

    with pytest.raises(FaultError):
        writer.future(breaks).result(timeout=10)
    assert writer.future(good).result(timeout=10) == 2
    writer.close()


def test_migrations_are_applied_once_and_must_not_change(tmp_path):
    """Opening again applies nothing; a changed or unknown migration refuses to start."""
    SqliteStore(tmp_path).close()
    made = SqliteStore(tmp_path)
    listed = migration.load("sqlite", {"bytes": "BLOB"})
    with made.transaction() as connection:
        assert migration.apply(connection, listed) == 0
    with pytest.raises(FaultError) as caught, made.transaction() as connection:
        migration.apply(connection, (listed[0]._replace(checksum="other"), *listed[1:]))
    assert caught.value.code == "store.incompatible"
    with pytest.raises(FaultError), made.transaction() as connection:
        migration.apply(connection, listed[:1])
    made.close()


def test_a_store_of_another_version_is_not_opened(store, tmp_path, request):
    """Where the database is ahead of the program, opening it again refuses and closes."""
    with store.transaction() as connection:
        connection.change("INSERT INTO migrations (number, checksum) VALUES (9999, 'x')")
    here = tmp_path / "data" if isinstance(store, SqliteStore) else None
    with pytest.raises(FaultError) as caught:
        type(store)(here or request.getfixturevalue("address"))
    assert caught.value.code == "store.incompatible"


def test_migrations_of_another_engine_are_left_out():
    """A file marked for one database is not run on another."""
    here, elsewhere = (migration.load(name, {"bytes": "B"}) for name in ("sqlite", "other"))
    assert {one.number for one in here} > {one.number for one in elsewhere}


def test_an_old_library_and_a_bad_folder_are_refused(tmp_path, monkeypatch):
    """The fault of older libraries is not risked, and a folder that cannot be made is told."""
    monkeypatch.setattr(sqlite, "library_version", lambda: 3_051_002)
    with pytest.raises(FaultError) as caught:
        SqliteStore(tmp_path)
    assert caught.value.code == "store.incompatible"
    monkeypatch.undo()
    (tmp_path / "file").write_text("")
    with pytest.raises(FaultError) as caught:
        SqliteStore(tmp_path / "file" / "data")
    assert caught.value.code == "store.unavailable"


def test_two_nodes_write_one_gapless_journal(address):
    """Two writers on one database take turns; every command gets a position of its own."""
    nodes = [PostgresStore(address) for _ in range(2)]
    writers = [stores.writer(node) for node in nodes]

    def command(work):
        return work.journal.append({"kind": "shared"}).position

    futures = [writers[number % 2].future(command) for number in range(300)]
    positions = sorted(future.result(timeout=60) for future in futures)
    for writer in writers:
        writer.close()
    assert positions == list(range(1, 301))
    assert verify(export(nodes[0])).problems == []
    for node in nodes:
        node.close()


def test_a_database_that_is_not_there_is_told():
    """A wrong address is the store's fault to report, without the driver's words."""
    with pytest.raises(FaultError) as caught:
        PostgresStore("postgresql://nobody@127.0.0.1:1/nothing")
    assert caught.value.code == "store.unavailable"
    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.campaign
def test_nothing_acknowledged_is_lost_when_the_process_is_killed():
    """Killed again and again in the middle of writing, every acknowledged entry is there."""
    assert kills.survive(1, 8) > 10


def test_what_cannot_be_written_fails_alone(store):
    """A row that the database refuses at the end fails its own command and no neighbour's."""
    writer = stores.writer(store)

    def poisoned(work):
        work.batch.add("verdicts", (None,) * 14)
        return work.journal.append({"kind": "poisoned"}).position

    futures = stores.together(writer, stores.note, poisoned, stores.note)
    with pytest.raises(FaultError):
        futures[1].result(timeout=10)
    assert [futures[n].result(timeout=10) for n in (0, 2)] == [2, 3]
    writer.close()
    assert verify(export(store)).entries == 3
