"""The doctor's bounded look at the newest part of a journal."""

import shutil
from pathlib import Path

import pytest

from avow import settings as settings_module
from avow.engine import sampling
from avow.wiring import archives, examining
from tests import offices
from tests.offices import avow


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Have a server fill a folder once."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    offices.fill(folder, 30)
    return folder


@pytest.fixture
def data(template, tmp_path):
    return shutil.copytree(template, tmp_path / "data")


def look(data: Path, most=10):
    """Look at the newest entries with the checkpoint that the folder's anchor holds."""
    settings = settings_module.flagged(
        settings_module.load(environment={}), {"store.data": str(data)}
    )
    archive = archives.opened(settings)
    known = list(examining._checkpoints(archive.anchors(), archive.ring()))
    assert len(known) == 1
    return archive.read(lambda view: sampling.newest(view, known, most=most))


def test_a_good_end(data):
    """Only so many entries are looked at as were asked for, or all if there are fewer."""
    assert look(data) == (10, [])
    assert look(data, most=1000) == (34, [])


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE journal_entries SET body = x'7b7d' WHERE position = 30", "entry 30 is not what"),
        ("DELETE FROM journal_entries WHERE position = 30", "entry 30 is not what"),
        ("DELETE FROM journal_entries WHERE position > 32", "head names 34 entries, 32 are there"),
        ("UPDATE journal_origins SET origin = 'x'", "names another history"),
    ],
)
def test_a_bad_end(data, statement, told):
    """A changed, missing or cut-off entry among the newest is named, as is another journal."""
    with offices.opened(data) as connection:
        connection.execute(statement)
    assert told in look(data)[1][0]


def test_an_end_that_fits_by_itself(data):
    """A journal that was cut off or rewritten with fitting hashes is found by its checkpoint."""
    offices.rewrite(data, lambda content: {**content, "x": 1})
    assert "rewritten: the anchor at 34" in look(data)[1][0]
    offices.cut(data, 4)
    assert look(data)[1] == ["cut off: the anchor names 34 entries, 30 are there"]


def test_the_doctor_of_a_long_journal(data, monkeypatch):
    """Where there are too many entries he looks at the newest and says so."""
    monkeypatch.setattr(examining, "NEWEST", 10)
    found = {one["name"]: one for one in avow("doctor", "--data", data, "--json").value}
    assert found["journal"]["detail"] == "the newest 10 of 34 entries fit"
