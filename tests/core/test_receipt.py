"""Receipts as texts: written and read without loss, odd and contradictory ones refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import checkpoint, journal, merkle, receipt
from avow.core.errors import MalformedError
from avow.core.journal import GENESIS, Entry, Erasable
from avow.core.receipt import Receipt
from tests.journals import ORIGIN, anchor, contents, fetcher, written

LINES = written(contents(12))
NOTE = checkpoint.read_note(anchor(LINES, 11))
GOAL = Erasable("goal", b"s" * 16, "tidy up")
GOOD = receipt.issued(
    Entry(1, GENESIS, b'{"n":1}', "a" * 64), note=NOTE, path=(b"x" * 32,), texts=[GOAL]
)


def refused(text):
    with pytest.raises(MalformedError) as caught:
        receipt.read(text)
    assert caught.value.code == "checkpoint.invalid"
    return {problem.path: problem.message for problem in caught.value.problems}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.integers(1, 11),
    st.lists(st.binary(min_size=32, max_size=32), max_size=5),
    st.dictionaries(TEXTS, st.tuples(st.binary(min_size=16, max_size=16), TEXTS), max_size=3),
    TEXTS,
)
def test_a_receipt_is_read_as_it_was_written(position, path, texts, said):
    """Writing and reading gives the same receipt, whatever its texts hold."""
    entry = journal.link(position, "b" * 64, {"said": said})
    shown = [Erasable(name, salt, text) for name, (salt, text) in texts.items()]
    made = receipt.issued(entry, note=NOTE, path=tuple(path), texts=shown)
    again = receipt.read(made.written())
    assert again == made
    assert again.body == entry.body


def test_the_form_is_the_documented_one():
    """One object whose members a stranger finds on the page, hashes in hex, the body as it is."""
    assert json.loads(GOOD.written()) == {
        "format": "avow-receipt-1",
        "origin": ORIGIN,
        "position": 1,
        "previous": "0" * 64,
        "body": '{"n":1}',
        "size": 11,
        "path": [(b"x" * 32).hex()],
        "checkpoint": anchor(LINES, 11),
        "texts": {"goal": {"salt": (b"s" * 16).hex(), "text": "tidy up"}},
    }
    assert merkle.inclusion(0, 11, fetcher(LINES)) != GOOD.path, "a receipt may be wrong"


@pytest.mark.parametrize("text", ["", "[]", "nonsense", '"x"', '{"a":1,"a":1}', "[" * 100_000])
def test_what_is_not_an_object_is_refused(text):
    """Anything but one JSON object without repeated members is malformed, and never a fault."""
    assert refused(text).keys() == {""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", "avow-receipt-2"),
        ("format", None),
        ("origin", 5),
        ("origin", "\ud800"),
        ("position", 0),
        ("position", True),
        ("position", 2**53 + 1),
        ("position", 1.0),
        ("previous", "0" * 63),
        ("previous", 5),
        ("body", None),
        ("body", "\udfff"),
        ("size", -1),
        ("path", {}),
        ("path", [5]),
        ("path", ["A" * 64]),
        ("checkpoint", 5),
        ("texts", []),
        ("texts", {"goal": "x"}),
        ("texts", {"goal": {"salt": "00" * 16}}),
        ("texts", {"goal": {"salt": 5, "text": "x"}}),
        ("texts", {"goal": {"salt": "00" * 15, "text": "x"}}),
        ("texts", {"goal": {"salt": "00" * 16, "text": 5}}),
        ("texts", {"\ud800": {"salt": "00" * 16, "text": "x"}}),
    ],
)
def test_each_member_has_its_form(name, value):
    """A member of another type or form is told by its name."""
    found = refused(json.dumps({**json.loads(GOOD.written()), name: value}))
    assert found.keys() == {name}
    assert found[name].startswith("it must be")


def test_every_problem_is_told():
    """Missing, unknown and odd members are told together."""
    members = {**json.loads(GOOD.written()), "more": 1, "position": "1"}
    del members["path"]
    assert refused(json.dumps(members)).keys() == {"path", "more", "position"}


@pytest.mark.parametrize(
    ("changed", "path", "told"),
    [
        ({"position": 12}, "position", "behind the checkpoint"),
        ({"origin": "elsewhere"}, "origin", "another journal"),
        ({"size": 10}, "size", "another size"),
        ({"checkpoint": "nonsense"}, "checkpoint", "a note is a text"),
        ({"checkpoint": NOTE.written().replace("chain", "chains")}, "checkpoint", "cannot be read"),
    ],
)
def test_what_contradicts_itself_is_refused(changed, path, told):
    """Origin, size and position must agree with the checkpoint inside."""
    found = refused(json.dumps({**json.loads(GOOD.written()), **changed}))
    assert told in found[path]


def test_a_receipt_without_texts():
    """A holder who may see no text gets none, and the receipt is as complete."""
    made = receipt.issued(Entry(2, "a" * 64, b'{"n":2}', "b" * 64), note=NOTE, path=())
    assert made == Receipt(
        origin=ORIGIN,
        position=2,
        previous="a" * 64,
        body=b'{"n":2}',
        size=11,
        path=(),
        note=NOTE.written(),
    )
    assert receipt.read(made.written()) == made
