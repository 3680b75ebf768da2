"""Checkpoints as signed notes: written and read without loss, odd ones refused."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import checkpoint
from avow.core.checkpoint import Checkpoint, Note, Signed
from avow.core.errors import MalformedError

ROOT = hashlib.sha256(b"root").digest()
GOOD = Checkpoint("avow.example/tenant", 42, ROOT, "a" * 64, 1_777_043_001_000)
NOTE = Note(GOOD.text(), (Signed("avow.example", b"\x01\x02\x03\x04", b"s" * 64),))


@given(st.integers(0, 10**15), st.binary(min_size=32, max_size=32), st.integers(0, 10**15))
def test_a_checkpoint_is_read_as_it_was_written(size, root, at_ms):
    """Writing and reading a note gives the same checkpoint and the same signatures."""
    made = Checkpoint("origin", size, root, root.hex(), at_ms)
    note = Note(made.text(), NOTE.signed * 2)
    again = checkpoint.read_note(note.written())
    assert again == note
    assert checkpoint.read(again.text) == made


def test_the_text_is_the_published_form():
    """Origin, size, base64 root, then our two extension lines; a blank line, then signatures."""
    lines = NOTE.written().split("\n")
    assert lines[:3] == ["avow.example/tenant", "42", base64.b64encode(ROOT).decode()]
    assert lines[3:6] == ["chain " + "a" * 64, "time 1777043001000", ""]
    assert lines[6].startswith("— avow.example AQIDB")


def test_the_short_name_of_a_key_is_the_published_one():
    """The key id hashes name, newline, algorithm byte and key, and keeps four bytes."""
    public = bytes(range(32))
    expected = hashlib.sha256(b"name\n\x01" + public).digest()[:4]
    assert checkpoint.key_id("name", public) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        "text",
        "text\n\n",
        "text\n\nnot a signature\n",
        "text\n\n— name notbase64!\n",
        "text\n\n— name AQID\n",
        "text\n\n— name AQIDBAU=",
        "text\n\n— name AQIDBAU=\n\n",
    ],
)
def test_what_is_not_a_note_is_refused(written):
    """A missing blank line, odd or short signature lines and loose ends are malformed."""
    with pytest.raises(MalformedError) as caught:
        checkpoint.read_note(written)
    assert caught.value.code == "checkpoint.invalid"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("42", "042"),
        ("42", "-1"),
        ("42", "x"),
        ("chain ", "chains "),
        ("time 1777043001000", "time x"),
        ("avow.example/tenant", ""),
        (base64.b64encode(ROOT).decode(), base64.b64encode(ROOT[:31]).decode()),
        (base64.b64encode(ROOT).decode(), "%%%"),
        ("time 1777043001000\n", ""),
        ("time 1777043001000\n", "time 1777043001000\nmore\n"),
    ],
)
def test_what_is_not_a_checkpoint_is_refused(old, new):
    """Each line has one form, and there are five of them."""
    with pytest.raises(MalformedError):
        checkpoint.read(GOOD.text().replace(old, new))
