"""The command line over each database: the registry, the journal, backups from each to each."""

import json
import secrets

import psycopg
import pytest

from avow.adapters.store.reading import PostgresReader, SqliteReader
from avow.core.errors import FaultError
from tests.offices import avow


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Give the options that name a store with a few entries in it."""
    given = ["--data", tmp_path / "data"]
    if request.param == "postgres":
        given += ["--store", request.getfixturevalue("address")]
    for name in ("bot", "other", "third"):
        assert avow("agents", "add", name, *given).code == 0
    return given


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request, tmp_path):
    """Give the options that name another store, where nothing is yet."""
    given = ["--data", tmp_path / "target"]
    if request.param == "postgres":
        given += ["--store", request.getfixturevalue("another")]
    return given


@pytest.fixture
def another(server):
    """Make one more database beside that of `address`."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.get_uri(name)


def verified(place):
    called = avow("journal", "verify", *place, "--json")
    assert called.code == 0, called
    return called.value


def test_the_journal_of_a_command_line(place):
    """What was done is journalled, verified, rotated, shown and exported."""
    report = verified(place)
    assert report["entries"] == report["anchored"] == 5
    assert [agent["id"] for agent in avow("agents", "list", *place, "--json").value] == [
        "bot",
        "other",
        "third",
    ]
    assert avow("journal", "rotate", *place).code == 0
    assert [key["state"] for key in verified(place)["keys"]] == ["added", "retired", "added"]
    assert avow("journal", "export", *place).out.count("\n") == 8
    assert avow("journal", "receipt", 5, *place).value["position"] == 5
    last = json.loads(avow("journal", "tail", "-n", "1", *place, "--json").out)
    assert last["body"]["kind"] == "key"


def test_a_backup_goes_from_each_database_to_each(place, empty, tmp_path):
    """What was backed up here is restored there, and proves itself against the anchor."""
    copy = tmp_path / "copy"
    made = avow("backup", copy, *place, "--json").value
    assert made["entries"] == made["anchored"] == 5
    restored = avow("restore", copy, *empty, "--json")
    assert restored.code == 0, restored
    assert (restored.value["entries"], restored.value["key_made"]) == (5, True)
    assert restored.value["head"] == made["head"] == verified(place)["head"]
    there = avow("journal", "export", *empty).out
    assert there.startswith(avow("journal", "export", *place).out)
    assert verified(empty)["entries"] == 7
    assert len(avow("agents", "list", *empty, "--json").value) == 3
    again = avow("restore", copy, *empty, "--json")
    assert (again.code, again.value["code"]) == (2, "backup.not_empty")
    assert verified(empty)["entries"] == 7


def test_a_backup_behind_the_anchor_of_each_database(place, empty, tmp_path):
    """Entries are lost only on demand, and then the journal of either database tells."""
    assert avow("backup", tmp_path / "copy", *place).code == 0
    assert avow("restore", tmp_path / "copy", *empty).code == 0
    assert avow("agents", "add", "fourth", *place).code == 0
    assert avow("backup", tmp_path / "newer", *place).code == 0
    third = ["--data", tmp_path / "third"]
    assert avow("restore", tmp_path / "newer", *third).code == 0
    (tmp_path / "third" / "avow.sqlite").unlink()
    refused = avow("restore", tmp_path / "copy", *third, "--json")
    assert (refused.code, refused.value["code"]) == (4, "backup.behind_anchor")
    done = avow("restore", tmp_path / "copy", "--lose-entries", *third, "--json")
    assert (done.code, done.value["lost"]) == (0, 3)
    assert any("was abandoned" in told for told in verified(third)["notices"])


def test_the_doctor_on_each_database(place):
    """He verifies the journal and rehearses backup and restore without leaving a trace."""
    before = verified(place)
    found = {one["name"]: one["state"] for one in avow("doctor", *place, "--json").value}
    assert found["journal"] == found["backup and restore, rehearsed"] == "good"
    assert verified(place) == before


def test_an_entry_changed_in_postgres(address, tmp_path):
    """Whoever owns the database can change an entry, and verification names it."""
    place = ["--data", tmp_path / "data", "--store", address]
    assert avow("agents", "add", "bot", *place).code == 0
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ALTER TABLE journal_entries DISABLE TRIGGER USER")
        connection.execute(
            "UPDATE journal_entries SET body = convert_to(replace(convert_from(body, 'UTF8'),"
            " 'bot', 'bat'), 'UTF8') WHERE position = 3"
        )
    called = avow("journal", "verify", *place, "--json")
    assert called.code == 1
    assert called.value["problems"][0] == ("entry 3 is not what was written: its hash does not fit")


def test_looking_at_an_empty_database_makes_nothing(address, tmp_path):
    """Neither tables nor keys come into being where somebody only wants to look."""
    place = ["--data", tmp_path / "data", "--store", address]
    for command in (("journal", "verify"), ("journal", "tail"), ("agents", "list")):
        called = avow(*command, *place, "--json")
        assert (called.code, called.value["code"]) == (2, "input.unreadable")
    with psycopg.connect(address) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone() == (0,)
    assert not (tmp_path / "data").exists()


def test_nothing_is_written_through_a_reader(place, tmp_path):
    """A store opened for reading gives no transaction."""
    reader = PostgresReader(place[3]) if len(place) > 2 else SqliteReader(tmp_path / "data")
    with pytest.raises(FaultError):
        reader.transaction()
    with reader.reader() as connection, pytest.raises(FaultError):
        connection.change("DELETE FROM agents")
