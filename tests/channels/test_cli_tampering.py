"""`avow journal verify` on journals that somebody tampered with, and on copies it must not touch."""

import random
import shutil
import sqlite3
import subprocess
import sys

import pytest

from tests import offices, serving
from tests.offices import avow


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Have a server fill a folder once."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    offices.fill(folder)
    return folder


@pytest.fixture
def data(template, tmp_path):
    """Give a copy of the filled folder."""
    return shutil.copytree(template, tmp_path / "data")


def problems(data, *arguments):
    """Verify, expect it to fail, and return what is wrong."""
    called = avow("journal", "verify", "--data", data, "--json", *arguments)
    assert called.code == 1, called
    assert called.value["good"] is False
    return called.value["problems"]


def test_a_good_journal(data):
    """Exit code 0, with what was verified, how far it is anchored, and the keys."""
    value = avow("journal", "verify", "--data", data, "--json").value
    assert value["good"] is True
    assert value["entries"] == value["anchored"] == 54
    assert (value["unanchored"], value["problems"], value["breaks"]) == (0, [], [])
    assert [key["state"] for key in value["keys"]] == ["added"]
    called = avow("journal", "verify", "--data", data)
    assert called.code == 0
    for text in ("nothing is wrong", "54 entries fit", "up to 54", "added at 2", value["head"]):
        assert text in called.out


def test_the_tail_is_told_as_unanchored(data):
    """Entries behind the last checkpoint are counted apart, and the rest stays good."""
    notes = (data / "anchor.notes").read_text().split("\n\n")
    (data / "anchor.notes").write_text("\n\n".join(notes[:2]) + "\n\n")
    value = avow("journal", "verify", "--data", data, "--json").value
    assert value["good"] is True
    assert 0 < value["anchored"] < 54
    assert value["unanchored"] == 54 - value["anchored"]
    assert value["unanchored_from"] == value["anchored"] + 1
    assert "only the chain fits there" in avow("journal", "verify", "--data", data).out


@pytest.mark.clause("IRL-6.03", "ICNLI-12.4.02", "ICNLI-12.5.02")
def test_a_flipped_byte_of_any_entry_is_found(data):
    """One bit of one stored byte, for each entry in turn, and verification names that entry."""
    file, source = data / "avow.sqlite", random.Random(7)
    with sqlite3.connect(file) as connection:
        rows = list(connection.execute("SELECT position, body FROM journal_entries"))
    connection.close()
    whole = file.read_bytes()
    assert len(rows) == 54
    for position, body in rows:
        at = source.randrange(len(body))
        flipped = body[:at] + bytes([body[at] ^ (1 << source.randrange(8))]) + body[at + 1 :]
        # Everywhere: SQLite leaves copies in pages that it has freed.
        file.write_bytes(whole.replace(body, flipped))
        assert problems(data)[0].startswith(f"entry {position} "), position


@pytest.mark.clause("IRL-6.03")
def test_a_flipped_byte_anywhere_is_no_accident(data):
    """Wherever a byte of the file is flipped, the answer is good or not good, and never a crash."""
    file, source = data / "avow.sqlite", random.Random(11)
    whole = file.read_bytes()
    export = avow("journal", "export", "--data", data).out
    found = {0: 0, 1: 0}
    for _ in range(150):
        at = source.randrange(len(whole))
        file.write_bytes(
            whole[:at] + bytes([whole[at] ^ (1 << source.randrange(8))]) + whole[at + 1 :]
        )
        called = avow("journal", "verify", "--data", data)
        found[called.code] += 1
        if called.code == 0:
            assert avow("journal", "export", "--data", data).out == export
    assert found[0]
    assert found[1]


def test_a_damaged_page(data):
    """A page that SQLite cannot read ends the walk with the last entry before it."""
    file = data / "avow.sqlite"
    with sqlite3.connect(file) as connection:
        [(body,)] = connection.execute("SELECT body FROM journal_entries WHERE position = 40")
        [(size,)] = connection.execute("PRAGMA page_size")
    connection.close()
    whole = bytearray(file.read_bytes())
    whole[whole.rindex(body) // size * size] = 0xFF
    file.write_bytes(whole)
    told = [one for one in problems(data) if one.startswith("the store is damaged behind entry ")]
    assert len(told) == 1
    assert 0 < int(told[0].split()[-1]) < 40
    file.write_bytes(b"\xff" + bytes(whole[1:]))
    assert problems(data)[0] == "the store is damaged and cannot be read at all"


@pytest.mark.clause("IRL-6.03", "ICNLI-12.5.03", "ICNLI-14.5.01")
def test_the_database_itself_refuses_changes(data):
    """Entries can be neither updated nor deleted through the store, whoever asks."""
    connection = sqlite3.connect(data / "avow.sqlite")
    for statement in ("UPDATE journal_entries SET body = ''", "DELETE FROM journal_entries"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()
    assert avow("journal", "verify", "--data", data).code == 0


@pytest.mark.clause("ICNLI-12.5.04", "ICNLI-14.5.01")
def test_deleted_last_entries(data):
    """A journal that was cut off, with a head that fits, is found by its anchor and not opened."""
    left = offices.cut(data, 3)
    assert f"cut off: an anchor names 54 entries, {left} left" in problems(data)
    refused = avow("agents", "add", "x", "--data", data, "--json")
    assert (refused.code, refused.value["code"]) == (5, "journal.rolled_back")


def test_a_smaller_checkpoint_that_came_in_later(data):
    """The largest checkpoint counts when a store is opened, and not the last in the file."""
    anchor = data / "anchor.notes"
    notes = anchor.read_text().split("\n\n")
    anchor.write_text(anchor.read_text() + "\n\n".join(notes[:2]) + "\n\n")
    assert avow("journal", "verify", "--data", data).code == 0
    offices.cut(data, 1)
    assert avow("agents", "add", "x", "--data", data).code == 5


def test_deleted_last_entries_whose_head_was_left(data):
    """Entries that are gone without the head being changed are missed even without an anchor."""
    with offices.opened(data) as connection:
        connection.execute("DELETE FROM journal_entries WHERE position > 53")
    (data / "anchor.notes").write_text("")
    assert "the store's head names 54 entries, 53 are there" in problems(data)


@pytest.mark.clause("ICNLI-12.5.04")
def test_an_old_backup_put_back(data, tmp_path):
    """The database of yesterday beside the anchor of today is a rollback, and is called that."""
    assert avow("backup", tmp_path / "old", "--data", data).code == 0
    assert avow("agents", "add", "later", "--data", data).code == 0
    shutil.copyfile(tmp_path / "old" / "avow.sqlite", data / "avow.sqlite")
    assert "cut off: an anchor names 55 entries, 54 left" in problems(data)
    started = [sys.executable, "-m", "avow", "up", "--port", "0", "--data", str(data)]
    refused = subprocess.run(started, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 5
    assert "journal.rolled_back" in refused.stderr


@pytest.mark.clause("ICNLI-12.4.02", "ICNLI-12.5.01", "ICNLI-12.5.04")
def test_a_full_rewrite(data):
    """Another history with every hash recomputed is found, because nobody signed it."""

    def change(content):
        return {**content, "outcome": "DENY"} if content["n"] == 20 else content

    before = avow("journal", "verify", "--data", data, "--json").value["head"]
    offices.rewrite(data, lambda content: content)
    assert avow("journal", "verify", "--data", data, "--json").value["head"] == before
    offices.rewrite(data, change)
    told = problems(data)
    assert "rewritten: the anchor at 54 names another history" in told
    assert avow("agents", "add", "x", "--data", data).code == 5


def test_a_rewrite_without_the_anchor(data):
    """Where no checkpoint is at hand nothing is called good: the chain alone proves little."""
    (data / "anchor.notes").unlink()
    assert "no good checkpoint of this journal is at hand: only its own chain fits" in problems(
        data
    )


def test_an_anchor_kept_elsewhere(data, tmp_path):
    """Whoever rewrites database and anchor together is found by a copy kept elsewhere."""
    kept = shutil.copyfile(data / "anchor.notes", tmp_path / "kept")
    ring = shutil.copyfile(data / "journal.keys", tmp_path / "ring")
    given = ("--anchor", kept, "--keys", ring)
    assert avow("journal", "verify", "--data", data, *given).code == 0
    shutil.rmtree(data)
    offices.fill(data, 1)
    assert avow("journal", "verify", "--data", data).code == 0
    assert problems(data, *given)


def test_a_text_that_was_changed(data):
    """A text beside the chain that is not the one of its digest is named."""
    with offices.opened(data) as connection:
        connection.execute("UPDATE journal_texts SET text = 'nothing' WHERE position = 30")
    assert problems(data) == ["the text `declaration` beside entry 30 is not what was written"]


def test_a_text_that_is_gone(data):
    """A text that vanished is told, unless the journal says that it was erased."""
    assert avow("journal", "erase", 31, "--data", data).code == 0
    with offices.opened(data) as connection:
        connection.execute("DELETE FROM journal_texts WHERE position = 30")
    value = avow("journal", "verify", "--data", data, "--json").value
    assert value["good"] is True
    gone = "the text `declaration` of entry 30 is gone, and no entry says that it was erased"
    assert value["notices"] == [gone]


def test_a_database_that_is_gone(data):
    """A folder with an anchor and no database is a rollback to nothing, and begins nothing anew."""
    (data / "avow.sqlite").unlink()
    for command in (("journal", "verify"), ("journal", "tail"), ("agents", "add", "x")):
        called = avow(*command, "--data", data, "--json")
        assert (called.code, called.value["code"]) == (5, "journal.rolled_back")
    assert not (data / "avow.sqlite").exists()


def test_another_journal_under_the_same_keys(data, tmp_path):
    """A fresh journal put beside the old keys and anchor is not taken for theirs."""
    offices.fill(tmp_path / "other", 1)
    shutil.copyfile(tmp_path / "other" / "avow.sqlite", data / "avow.sqlite")
    assert any("an anchor is for `avow/" in told for told in problems(data))
    assert avow("agents", "add", "x", "--data", data).code == 5


def test_a_journal_that_was_given_another_origin(data):
    """The same entries under another name are not the journal that the anchor is of."""
    with offices.opened(data) as connection:
        connection.execute("UPDATE journal_origins SET origin = 'avow/other'")
    assert any("an anchor is for `avow/" in told for told in problems(data))
    assert avow("agents", "add", "x", "--data", data).code == 5


def test_where_nothing_is(tmp_path):
    """Verification makes neither a journal nor keys nor a folder."""
    called = avow("journal", "verify", "--data", tmp_path / "none", "--json")
    assert (called.code, called.value["code"]) == (2, "input.unreadable")
    assert "avow up" in called.value["detail"]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("state", ["closed", "killed", "killed and copied", "running"])
def test_nothing_is_written(tmp_path, state):
    """In whatever state a server left the folder, verification sees all of it and changes nothing."""
    data, other = tmp_path / "data", tmp_path / "other"
    with serving.server(data) as served:
        offices.declare(served, 12)
        if state == "closed":
            serving.stop(served)
        elif state != "running":
            served.process.kill()
            served.process.wait()
            assert (data / "avow.sqlite-wal").stat().st_size
        if state == "killed and copied":
            (data / "avow.sqlite-shm").unlink()
        shutil.copytree(data, other)
        # A running server is at work on its own folder, so only a copy tells what was changed.
        looked = data if state == "running" else other
        before = offices.looks(other)
        for command in (("verify",), ("tail",), ("export",)):
            called = avow("journal", *command, "--data", looked)
            assert called.code == 0, called
        assert "ver_" in avow("journal", "tail", "--data", looked).out
        assert avow("journal", "verify", "--data", looked, "--json").value["entries"] == 16
        assert offices.looks(other) == before
