"""The stand-alone check of receipts: what fits is good, everything bent is told, nothing raises."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.clients import receipts
from avow.clients.receipts import check, check_consistency
from avow.core import checkpoint, journal, merkle, receipt
from avow.core.journal import Entry, Erasable
from tests.journals import (
    KEYS,
    NEXT,
    ORIGIN,
    SIGNER,
    anchor,
    contents,
    fetcher,
    noted,
    ring,
    written,
)

COUNT = 23
GOAL = Erasable("goal", b"s" * 16, "tidy up")
LISTED = [{**content, "goal": {"sha256": GOAL.digest}} for content in contents(COUNT)]
LINES = written(LISTED)


def entry(position):
    _, hashed, body = LINES[position].rstrip(b"\n").split(b" ", 2)
    previous = LINES[position - 1].split(b" ")[1].decode() if position > 1 else journal.GENESIS
    return Entry(position, previous, body, hashed.decode())


def made(position, size=COUNT, note=None, texts=(GOAL,)):
    """Return the text of a receipt as the product writes it."""
    signed = checkpoint.read_note(note or anchor(LINES, size))
    path = merkle.inclusion(position - 1, size, fetcher(LINES[: size + 1]))
    return receipt.issued(entry(position), note=signed, path=path, texts=texts).written()


def changed(text, **members):
    return json.dumps({**json.loads(text), **members})


@pytest.mark.clause("IRL-6.03", "ICNLI-12.5.04")
def test_every_entry_of_every_tree_has_a_good_receipt():
    """Whatever the product issues checks, for each entry of each size."""
    for size in range(1, COUNT + 1):
        note = anchor(LINES, size)
        for position in range(1, size + 1):
            report = check(made(position, size, note), keys=KEYS)
            assert report.problems == []
            assert report.is_good
            assert (report.origin, report.position, report.size) == (ORIGIN, position, size)
            assert report.entry_hash == entry(position).hash
            assert (report.at_ms, report.signed_by) == (5, [SIGNER.name])
            assert report.texts == {"goal": "tidy up"}


def test_a_text_that_was_erased_or_is_not_for_the_holder():
    """Without its texts the receipt is as good, and shows none."""
    report = check(made(7, texts=()), keys=KEYS)
    assert report.is_good
    assert report.texts == {}


@pytest.mark.clause("ICNLI-12.5.04")
def test_receipts_outlive_a_rotation_and_not_a_compromise():
    """A retired key still counts; a compromised one proves nothing, as does a key not in the ring."""
    text = made(7)
    assert check(text, keys=ring(SIGNER, NEXT)).is_good
    stolen = check(text, keys=ring(SIGNER, NEXT, stolen=SIGNER, at=9))
    assert stolen.problems == ["the checkpoint is signed only by a key called compromised"]
    assert stolen.signed_by == []
    for keys in ("", ring(NEXT)):
        assert check(text, keys=keys).problems == ["the checkpoint is not signed by a trusted key"]
    both = made(7, note=anchor(LINES, COUNT, also=[NEXT]))
    assert check(both, keys=ring(SIGNER, NEXT, stolen=SIGNER, at=9)).is_good
    assert "repeats a key" in check(text, keys=KEYS * 2).problems[0]


@pytest.mark.parametrize("position", [1, 2, 7, 16, 17, 22, 23])
def test_a_bent_path_proves_nothing(position):
    """Every element flipped, dropped, doubled or swapped, and paths too short and too long."""
    text = made(position)
    path = json.loads(text)["path"]
    bent = [[], path[:-1], path[1:], [*path, path[0]], ["0" * 64, *path], path[::-1]]
    for at, one in enumerate(path):
        flipped = f"{int(one[0], 16) ^ 1:x}{one[1:]}"
        bent += [
            [*path[:at], flipped, *path[at + 1 :]],
            path[:at] + path[at + 1 :],
            [*path[: at + 1], *path[at:]],
        ]
    for wrong in bent:
        report = check(changed(text, path=wrong), keys=KEYS)
        assert any("the path" in problem for problem in report.problems), wrong
    assert check(changed(text, path=path), keys=KEYS).is_good


@pytest.mark.clause("IRL-6.03")
@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"format": "avow-receipt-2"}, "of another version"),
        ({"origin": "elsewhere"}, "of another journal"),
        ({"origin": "\ud800"}, "half a surrogate pair"),
        ({"position": 8}, "does not name its own position"),
        ({"position": 0}, "outside the checkpoint"),
        ({"position": 24}, "outside the checkpoint"),
        ({"position": True}, "not of their types"),
        ({"position": 7.0}, "not of their types"),
        ({"previous": "1" * 64}, "does not lead to the root"),
        ({"previous": "1" * 63}, "64 hex digits"),
        ({"body": entry(8).body.decode()}, "does not name its own position"),
        ({"body": entry(7).body.decode().replace("entry", "Entry")}, "does not lead to the root"),
        ({"body": "[]"}, "the body is not one JSON object"),
        ({"body": '{"n":7,"n":7}'}, "the body is not one JSON object"),
        ({"body": '{"n":7.0}'}, "does not name its own position"),
        ({"body": "\ud800"}, "half a surrogate pair"),
        ({"size": 22}, "the checkpoint names another size"),
        ({"size": 10**4000}, "the checkpoint names another size"),
        ({"path": ["x"]}, "64 hex digits"),
        ({"path": [5]}, "64 hex digits"),
        ({"path": None}, "not of their types"),
        ({"checkpoint": "nonsense"}, "is not one signed note"),
        ({"checkpoint": anchor(LINES, 23) * 2}, "is not one signed note"),
        ({"checkpoint": anchor(LINES, 23) + "x"}, "is not one signed note"),
        ({"checkpoint": anchor(LINES, 22)}, "the checkpoint names another size"),
        ({"checkpoint": anchor(LINES, 23, origin="x")}, "of another journal"),
        ({"checkpoint": anchor(LINES, 23).replace("time 5", "time 6")}, "not signed by a trusted"),
        ({"checkpoint": anchor(LINES, 23).replace("— ", "— \ud800")}, "not signed by a trusted"),
        ({"texts": {"goal": {"salt": "73" * 16, "text": "tear down"}}}, "not the one in the entry"),
        ({"texts": {"goal": {"salt": "00" * 16, "text": "tidy up"}}}, "not the one in the entry"),
        ({"texts": {"note": {"salt": "73" * 16, "text": "tidy up"}}}, "not the one in the entry"),
        ({"texts": {"goal": {"salt": "73" * 15, "text": "tidy up"}}}, "not a text with its salt"),
        ({"texts": {"goal": {"salt": "73" * 16, "text": "\ud800"}}}, "not a text with its salt"),
        ({"texts": {"goal": {"salt": "73" * 16, "text": "", "x": 1}}}, "not a text with its salt"),
        ({"texts": {"goal": 5}}, "not a text with its salt"),
        ({"more": 1}, "not those of a receipt"),
    ],
)
def test_each_defect_is_named(members, told):
    """A receipt with one member changed is bad, and the report says why."""
    report = check(changed(made(7), **members), keys=KEYS)
    assert any(told in problem for problem in report.problems), report.problems
    assert not report.is_good


def test_the_first_and_the_last_entry_are_held_to_the_chain():
    """Nothing stands before the first entry, and the last one is the head the checkpoint names."""
    other = Entry(1, "1" * 64, entry(1).body, journal.hash_of("1" * 64, entry(1).body))
    lines = [LINES[0], b"1 " + other.hash.encode() + b" " + other.body]
    signed = checkpoint.read_note(anchor(lines, 1))
    text = receipt.issued(other, note=signed, path=()).written()
    assert check(text, keys=KEYS).problems == ["before the first entry there is none"]
    named = checkpoint.read(checkpoint.read_note(anchor(LINES, 1)).text)
    bent = noted(replace(named, head="2" * 64), SIGNER)
    assert check(made(1, 1, bent), keys=KEYS).problems == [
        "the last entry is not the head that the checkpoint names"
    ]


GOOD = made(7)


@given(st.data())
def test_a_receipt_with_any_character_changed_is_bad_or_the_same(data):
    """No edit of the text raises, and none gives a good report about something else."""
    at = data.draw(st.integers(0, len(GOOD) - 1))
    fresh = data.draw(st.text(max_size=2))
    bent = GOOD[:at] + fresh + GOOD[at + data.draw(st.integers(0, 3)) :]
    report = check(bent, keys=KEYS)
    if report.is_good:
        assert json.loads(bent) == json.loads(GOOD)
    assert all(isinstance(line, str) for line in report.lines())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(GOOD))), JSON)
def test_any_value_in_any_member_is_bad_or_the_same(name, value):
    """Whatever JSON stands in a member, the check answers, and only the true one is good."""
    report = check(changed(GOOD, **{name: value}), keys=KEYS)
    true = json.loads(GOOD)[name]
    is_same = type(value) is type(true) and value == true
    assert report.is_good == (is_same or (name == "texts" and value == {}))


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", "[" * 100_000, "1" * 5000, "\ud800", '{"a":1,"a":2}', "\x00"]
)
def test_garbage_is_told(text):
    """What is no receipt at all is bad and never raises."""
    report = check(text, keys=KEYS)
    assert len(report.problems) == 1
    assert report.lines()[-1] == "this receipt proves nothing"
    assert not check(GOOD, keys=text).is_good


def test_a_repeated_member_is_refused():
    """Where two readers could see two receipts there is none."""
    twice = GOOD[:-1] + ',"position":7}'
    assert check(twice, keys=KEYS).problems == [
        "a receipt is one JSON object without repeated members"
    ]


def test_the_report_as_people_read_it():
    """It names entry, checkpoint and texts, with what cannot be seen written out."""
    text = Erasable("goal", b"s" * 16, "tidy\x1bup")
    lines = written([{"kind": "x", "goal": {"sha256": text.digest}}])
    signed = checkpoint.read_note(anchor(lines, 1))
    first = journal.link(1, journal.GENESIS, {"kind": "x", "goal": {"sha256": text.digest}})
    told = receipt.issued(first, note=signed, path=(), texts=[text]).written()
    assert check(told, keys=KEYS).lines() == [
        f"entry 1 of {ORIGIN}, hash {first.hash}",
        "checkpoint at 1, signed by avow.example",
        "goal: tidy\\u{1b}up",
        "nothing is wrong",
    ]
    assert "problem: the text `goal` is not a text with its salt" in (
        check(changed(told, texts={"goal": 5}), keys=KEYS).lines()
    )


def steps(first, second):
    return [one.hex() for one in merkle.consistency(first, second, fetcher(LINES[: second + 1]))]


NOTES = [anchor(LINES, size) for size in range(COUNT + 1)]


@pytest.mark.clause("IRL-6.03")
def test_every_step_between_checkpoints():
    """Each smaller tree is proven to begin each larger one, and no bent path proves it."""
    for second in range(1, COUNT + 1):
        for first in range(1, second + 1):
            path = steps(first, second)
            report = check_consistency(NOTES[first], NOTES[second], path, keys=KEYS)
            assert report.is_good, (first, second, report)
            assert (report.origin, report.first, report.second) == (ORIGIN, first, second)
            bent = [[*path, "0" * 64], path[:-1], path[1:]]
            for at in range(len(path)):
                bent += [path[:at] + path[at + 1 :], [*path[:at], "0" * 64, *path[at + 1 :]]]
                bent += [[*path[: at + 1], *path[at:]]]
            for wrong in bent:
                if wrong != path:
                    again = check_consistency(NOTES[first], NOTES[second], wrong, keys=KEYS)
                    assert not again.is_good


@pytest.mark.clause("IRL-6.03", "ICNLI-12.4.02")
def test_another_history_is_not_consistent():
    """A checkpoint over a rewritten, shortened or equally long other journal does not follow."""
    other = written([{"kind": "other"}, *LISTED[1:]])
    for first, second in ((5, 16), (8, 16), (7, 7), (1, 23)):
        path = steps(first, second)
        for notes in (NOTES[first], anchor(other, second)), (anchor(other, first), NOTES[second]):
            report = check_consistency(*notes, path, keys=KEYS)
            assert report.problems == [
                "the path does not lead from the first checkpoint to the second"
            ]
    assert not check_consistency(NOTES[16], NOTES[8], steps(8, 16), keys=KEYS).is_good
    elsewhere = anchor(LINES, 16, origin="elsewhere")
    report = check_consistency(NOTES[8], elsewhere, steps(8, 16), keys=KEYS)
    assert report.problems == ["the checkpoints are of two journals"]


def test_an_empty_journal_begins_every_other():
    """Its checkpoint must be the one of an empty tree, and needs no path."""
    assert check_consistency(NOTES[0], NOTES[5], [], keys=KEYS).is_good
    assert not check_consistency(NOTES[0], NOTES[5], steps(4, 5), keys=KEYS).is_good
    root = checkpoint.read(checkpoint.read_note(NOTES[3]).text).root
    for bent in (
        checkpoint.Checkpoint(ORIGIN, 0, root, journal.GENESIS, 5),
        checkpoint.Checkpoint(ORIGIN, 0, merkle.EMPTY_ROOT, "1" * 64, 5),
    ):
        assert not check_consistency(noted(bent, SIGNER), NOTES[5], [], keys=KEYS).is_good


@pytest.mark.clause("ICNLI-12.5.04")
def test_a_later_good_checkpoint_vouches_for_an_earlier_one():
    """The second needs a good key; a first one by a stolen key is proven by the path, and told."""
    keys = ring(SIGNER, NEXT, stolen=SIGNER, at=9)
    good = anchor(LINES, 16, signer=NEXT)
    report = check_consistency(NOTES[8], good, steps(8, 16), keys=keys)
    assert report.is_good
    assert report.notices == ["the first checkpoint is signed only by a key called compromised"]
    back = check_consistency(anchor(LINES, 8, signer=NEXT), NOTES[16], steps(8, 16), keys=keys)
    assert back.problems == ["the second checkpoint is not signed by a key that is trusted"]
    nobody = check_consistency(NOTES[8], good, steps(8, 16), keys=ring(NEXT))
    assert nobody.problems == ["the first checkpoint is not signed by a trusted key"]
    assert len(check_consistency(NOTES[8], NOTES[16], steps(8, 16), keys="").problems) == 2


@given(st.text(), st.lists(st.text() | st.integers()))
def test_garbage_between_checkpoints_is_told(text, path):
    """Neither odd notes nor odd paths nor odd rings raise."""
    assert not check_consistency(text, NOTES[5], [], keys=KEYS).is_good
    assert not check_consistency(NOTES[3], text, [], keys=KEYS).is_good
    assert not check_consistency(NOTES[3], NOTES[5], path, keys=text).is_good


def test_it_shares_nothing_with_the_writer():
    """It imports the standard library and the verifier, so a stranger can copy three files."""
    tree = ast.parse(Path(receipts.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("avow")} == {"avow.clients.verifier"}
