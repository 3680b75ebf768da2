"""Backups, restoring them, and the doctor who rehearses both."""

import json
import shutil
import threading

import pytest

from avow.adapters.store import copying
from tests import offices, serving
from tests.offices import avow


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Have a server fill a folder once."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    offices.fill(folder, 20)
    return folder


@pytest.fixture
def data(template, tmp_path):
    """Give a copy of the filled folder."""
    return shutil.copytree(template, tmp_path / "data")


@pytest.fixture
def copy(data, tmp_path):
    """Give a backup of the filled folder."""
    assert avow("backup", tmp_path / "copy", "--data", data).code == 0
    return tmp_path / "copy"


def verified(data):
    """Verify, expect it to be good, and return the report."""
    called = avow("journal", "verify", "--data", data, "--json")
    assert called.code == 0, called
    return called.value


def clear(data):
    """Take the database away, as a broken disk would, and leave keys and anchor."""
    (data / "avow.sqlite").unlink()


def test_a_backup_is_complete_without_the_signing_key(data, tmp_path):
    """It holds database, anchor and public keys, says what it leaves out, and verifies by itself."""
    value = avow("backup", tmp_path / "copy", "--data", data, "--json").value
    assert (value["entries"], value["anchored"]) == (24, 24)
    assert value["head"] == verified(data)["head"]
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"avow.sqlite", "anchor.notes", "journal.keys"}
    assert verified(tmp_path / "copy")["head"] == value["head"]
    said = avow("backup", tmp_path / "again", "--data", data).out
    assert "24 entries" in said
    assert "left out  journal.key" in said


def test_a_backup_while_a_server_writes(tmp_path):
    """Copies taken in the middle of writing are each one state, good, and no shorter than before."""
    data = tmp_path / "data"
    with serving.server(data) as served:
        offices.declare(served, 1)
        writing = threading.Thread(target=offices.declare, args=(served, 1500))
        writing.start()
        sizes = []
        while writing.is_alive() and len(sizes) < 6:
            called = avow("backup", tmp_path / f"copy-{len(sizes)}", "--data", data, "--json")
            assert called.code == 0, called
            sizes.append(called.value["entries"])
        writing.join()
    assert len(sizes) >= 2
    assert sizes == sorted(set(sizes))
    whole = avow("journal", "export", "--data", data).out
    for number, size in enumerate(sizes):
        export = avow("journal", "export", "--data", tmp_path / f"copy-{number}").out
        assert export.count("\n") == size + 1
        assert whole.startswith(export)
    assert verified(data)["entries"] == 1505


def test_a_checkpoint_made_while_copying(data, tmp_path, monkeypatch):
    """What was anchored after the copy was taken is left out of it, and the copy is good."""
    real = copying.backup

    def slowly(store, folder, progress):
        real(store, folder, progress)
        assert avow("agents", "add", "meanwhile", "--data", data).code == 0

    monkeypatch.setattr(copying, "backup", slowly)
    value = avow("backup", tmp_path / "copy", "--data", data, "--json").value
    assert (value["entries"], value["anchored"]) == (24, 24)
    assert verified(data)["entries"] == 25


def test_restoring_onto_a_fresh_machine(copy, tmp_path):
    """Everything comes back, a fresh key is made and journalled, and a server goes on with it."""
    fresh = tmp_path / "fresh"
    value = avow("restore", copy, "--data", fresh, "--json").value
    assert (value["entries"], value["lost"], value["key_made"]) == (24, 0, True)
    report = verified(fresh)
    assert report["entries"] == report["anchored"] == 26
    assert [key["state"] for key in report["keys"]] == ["added", "retired", "added"]
    assert report["notices"] == []
    assert (fresh / "journal.key").stat().st_mode & 0o777 == 0o600
    people = avow("people", "list", "--data", fresh, "--json").value
    assert [person["id"] for person in people] == ["admin"]
    with serving.server(fresh) as served:
        assert served.key == ""
    assert avow("restore", copy, "--data", fresh).code == 2


def test_restoring_beside_the_old_key(data, copy):
    """Where key and anchor still lie in the folder they are kept, and nothing is journalled."""
    before = {name: (data / name).read_bytes() for name in ("journal.key", "journal.keys")}
    clear(data)
    called = avow("restore", copy, "--data", data)
    assert called.code == 0
    assert "Restored 24 entries" in called.out
    assert "fresh one was made" not in called.out
    assert {name: (data / name).read_bytes() for name in before} == before
    assert verified(data)["entries"] == 24


@pytest.mark.clause("ICNLI-14.5.01")
def test_a_backup_behind_the_living_anchor(data, copy):
    """It is refused with both sizes, unless the entries are given up, which the journal then tells."""
    assert avow("agents", "add", "later", "--data", data).code == 0
    lost = verified(data)["head"]
    clear(data)
    before = offices.looks(data)
    called = avow("restore", copy, "--data", data, "--json")
    assert (called.code, called.value["code"]) == (4, "backup.behind_anchor")
    assert "the anchor knows 25 entries, and the backup has 24" in called.value["detail"]
    assert offices.looks(data) == before
    anchor = (data / "anchor.notes").read_bytes()
    value = avow("restore", copy, "--lose-entries", "--data", data, "--json").value
    assert (value["entries"], value["lost"]) == (24, 1)
    assert (data / "anchor.notes.set-aside-1").read_bytes() == anchor
    assert value["set_aside"] == str(data / "anchor.notes.set-aside-1")
    entry = json.loads(avow("journal", "tail", "-n", "1", "--data", data, "--json").out)["body"]
    assert (entry["kind"], entry["kept"], entry["n"]) == ("restored", 24, 25)
    assert (entry["abandoned"]["size"], entry["abandoned"]["head"]) == (25, lost)
    report = verified(data)
    assert [told for told in report["notices"] if entry["abandoned"]["root"] in told]
    given = ("--anchor", data / "anchor.notes.set-aside-1")
    assert avow("journal", "verify", "--data", data, *given).code == 1
    with serving.server(data):
        assert avow("agents", "add", "after", "--data", data).code == 0
    assert verified(data)["entries"] == 26


def test_an_anchor_outside_counts(data, copy, tmp_path, monkeypatch):
    """The living anchor is the one that the settings name, also when the data folder is new."""
    outside = shutil.copyfile(data / "anchor.notes", tmp_path / "outside.notes")
    monkeypatch.setenv("AVOW_JOURNAL_ANCHOR", str(outside))
    assert avow("agents", "add", "later", "--data", data).code == 0
    fresh = tmp_path / "fresh"
    called = avow("restore", copy, "--data", fresh, "--json")
    assert (called.code, called.value["code"]) == (4, "backup.behind_anchor")
    assert not fresh.exists()
    assert avow("restore", copy, "--lose-entries", "--data", fresh).code == 0
    assert (tmp_path / "outside.notes.set-aside-1").exists()
    assert verified(fresh)["good"]


def test_the_anchor_of_another_journal(copy, tmp_path):
    """A backup is not put under the anchor of another journal, whatever is asked for."""
    other = tmp_path / "other"
    offices.fill(other, 1)
    clear(other)
    called = avow("restore", copy, "--lose-entries", "--data", other, "--json")
    assert (called.code, called.value["code"]) == (4, "backup.other_journal")
    assert not (other / "avow.sqlite").exists()


def test_a_key_that_is_no_longer_in_use(data):
    """A retired key that lies in the folder is set aside and never signs again."""
    old = (data / "journal.key").read_bytes()
    assert avow("journal", "rotate", "--data", data).code == 0
    newer = data.parent / "newer"
    assert avow("backup", newer, "--data", data).code == 0
    clear(data)
    (data / "journal.key").write_bytes(old)
    assert avow("restore", newer, "--data", data, "--json").value["key_made"] is True
    assert (data / "journal.key.set-aside-1").read_bytes() == old
    assert verified(data)["good"]


def test_damaged_backups(data, copy, tmp_path):
    """What does not verify, is none, or is a folder in use, is not restored and leaves nothing."""
    target = ("--data", tmp_path / "target", "--json")
    assert avow("restore", tmp_path / "none", *target).value["code"] == "input.unreadable"
    with serving.server(data):
        assert avow("agents", "add", "bot", "--data", data).code == 0
        assert avow("restore", data, *target).value["code"] == "backup.damaged"
    offices.cut(copy, 2)
    called = avow("restore", copy, *target)
    assert (called.code, called.value["code"]) == (2, "backup.damaged")
    assert "cut off" in called.value["problems"][0]["message"]
    (copy / "avow.sqlite").write_bytes(b"nonsense" * 1000)
    assert avow("restore", copy, *target).value["code"] == "backup.damaged"
    assert not (tmp_path / "target").exists()


def checks(*arguments):
    """Examine and return code, and state and detail by name."""
    called = avow("doctor", "--json", *arguments)
    return called.code, {one["name"]: (one["state"], one["detail"]) for one in called.value}


def test_the_doctor_without_data(tmp_path):
    """No data folder is no fault; nothing is made, and nothing of a store is looked at."""
    code, found = checks("--data", tmp_path / "none")
    assert code == 0
    assert found["data folder"][0] == "good"
    assert "not there yet" in found["data folder"][1]
    assert "journal" not in found
    assert not (tmp_path / "none").exists()


def test_the_doctor_changes_nothing(data):
    """He verifies the journal and rehearses backup and restore, and the folder stays as it was."""
    before = offices.looks(data)
    code, found = checks("--data", data)
    assert code == 0
    assert found["journal"] == ("good", "all 24 entries verified")
    assert found["backup and restore, rehearsed"][0] == "good"
    assert found["anchor"][0] == "warning"
    assert found["signing key"][0] == found["SQLite library"][0] == "good"
    assert found["open breakers"] == ("good", "none")
    assert found["unanchored entries"] == ("good", "0")
    assert offices.looks(data) == before


def test_the_doctor_beside_a_server(data):
    """He also works while a server runs."""
    with serving.server(data):
        assert checks("--data", data)[0] == 0
    assert verified(data)["entries"] == 24


def test_what_the_doctor_finds(data, tmp_path, monkeypatch):
    """A key that others may read, open breakers and a journal cut off are told with advice."""
    with offices.opened(data) as connection:
        connection.execute("INSERT INTO breakers VALUES ('main', 'bot', 'delete', 1)")
    code, found = checks("--data", data)
    assert (code, found["open breakers"]) == (0, ("warning", "delete by `bot`"))
    (data / "journal.key").chmod(0o644)
    code, found = checks("--data", data)
    assert (code, found["signing key"][0]) == (1, "bad")
    outside = shutil.copyfile(data / "anchor.notes", tmp_path / "outside.notes")
    monkeypatch.setenv("AVOW_JOURNAL_ANCHOR", str(outside))
    assert checks("--data", data)[1]["anchor"] == ("good", str(outside))
    offices.cut(data, 2)
    code, found = checks("--data", data)
    assert (code, found["journal"][0]) == (1, "bad")
    assert "cut off" in found["journal"][1]
    assert "backup and restore, rehearsed" not in found
    clear(data)
    assert checks("--data", data)[1]["journal"][0] == "bad"


def test_settings_keep_their_secrets(monkeypatch):
    """The password of a database is masked in what is shown, for people and for programs."""
    monkeypatch.setenv("AVOW_STORE_URL", "postgresql://avow:hunter2@db/avow")
    for arguments in ((), ("--json",)):
        called = avow("settings", *arguments)
        assert called.code == 0
        assert "hunter2" not in called.out
        assert "****@" in called.out
