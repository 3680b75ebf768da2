"""The stand-alone verifier: what was tampered with is found, what is not anchored is said."""

import ast
import base64
import hashlib
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.adapters.signing.signer import Ed25519Signer
from avow.clients import ed25519, verifier
from avow.clients.verifier import KeyEntry, verify
from avow.core import checkpoint, keyring
from avow.core.errors import MalformedError
from tests.journals import (
    KEYS,
    NEXT,
    ORIGIN,
    SIGNER,
    anchor,
    contents,
    noted,
    ring,
    tampered,
    written,
)

JOURNAL = written(contents(40))
ANCHORS = anchor(JOURNAL, 10) + "\n" + anchor(JOURNAL, 33)
THIRD = Ed25519Signer("avow.example", b"t" * 32)
# The second of three keys was stolen, which was told when the journal had 25 entries.
STOLEN = ring(SIGNER, NEXT, THIRD, stolen=NEXT, at=25)
OTHER = written([{**content, "note": "another story"} for content in contents(40)])


def test_a_journal_as_it_was_written():
    """Chain, tree and both anchors fit; the last seven entries are not anchored and said to be so."""
    report = verify(JOURNAL, anchors=ANCHORS, keys=KEYS)
    assert report.problems == []
    assert report.is_good
    assert (report.entries, report.anchors_good, report.anchored, report.unanchored) == (
        40,
        2,
        33,
        7,
    )
    assert report.origin == ORIGIN
    assert report.head == JOURNAL[-1].split(b" ")[1].decode()


def test_without_anchors_nothing_is_anchored():
    """The chain alone fits, and everything is reported as unanchored."""
    report = verify(JOURNAL)
    assert report.is_good
    assert report.unanchored == 40


def test_an_empty_journal():
    """No entries are fine, also against an anchor that was made when there were none."""
    empty = written([])
    report = verify(empty, anchors=anchor(empty, 0), keys=KEYS)
    assert report.is_good
    assert (report.entries, report.anchors_good) == (0, 1)
    assert verify(JOURNAL, anchors=anchor(empty, 0), keys=KEYS).is_good


@pytest.mark.clause("IRL-6.03", "ICNLI-12.4.02", "ICNLI-12.5.02", "ICNLI-12.5.04")
@pytest.mark.campaign
def test_two_thousand_random_tamperings():
    """
    Every edit, deletion, insertion, reordering, truncation or rewrite up to the anchor is found,
    also beside anchors that a stolen key signed over it.
    """
    source = random.Random(11)
    anchors = anchor(JOURNAL, 10) + anchor(JOURNAL, 33, signer=THIRD)
    found = 0
    for number in range(2400):
        lines, touched = tampered(JOURNAL, source)
        forged = anchor(lines, len(lines) - 1, signer=NEXT) if number % 20 == 0 else ""
        report = verify(lines, anchors=anchors + forged, keys=STOLEN)
        assert report.anchored <= 33
        if touched <= 33:
            assert not report.is_good, (touched, report)
            found += 1
        elif report.is_good:
            assert report.unanchored == report.entries - 33
            assert report.unanchored_from == (34 if report.entries > 33 else 0)
    assert found > 1800


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "does not name the format"),
        ([b"something else\n"], "does not name the format"),
        ([JOURNAL[0], *JOURNAL[2:]], "entry 1 is missing or out of order"),
        ([*JOURNAL[:3], b"3 x\n"], "entry 3 is missing or out of order"),
        ([*JOURNAL[:3], JOURNAL[3].replace(b"entry 2", b"entry 9")], "its hash does not fit"),
    ],
)
def test_each_defect_is_named(lines, told):
    """The report says what is wrong and at which entry."""
    report = verify(lines)
    assert not report.is_good
    assert told in report.problems[0]


def test_a_body_that_names_another_position_is_found():
    """Even with fitting hashes an entry must name its own position."""
    body = b'{"kind":"x","n":2}'
    digest = hashlib.sha256(b"avow-journal-1\n" + b"0" * 64 + b"\n" + body).hexdigest()
    report = verify([JOURNAL[0], b"1 " + digest.encode() + b" " + body])
    assert "does not name its own position" in report.problems[0]


def test_a_rewrite_without_the_key_is_found():
    """A whole new history whose hashes fit disagrees with every anchor."""
    other = written([{**content, "note": "x"} for content in contents(40)])
    report = verify(other, anchors=ANCHORS, keys=KEYS)
    assert report.problems == [
        "rewritten: the anchor at 10 names another history",
        "rewritten: the anchor at 33 names another history",
    ]


def test_head_and_root_must_both_fit():
    """A signed checkpoint that agrees with the chain alone or with the tree alone is no anchor."""
    named = checkpoint.read(checkpoint.read_note(anchor(JOURNAL, 10)).text)
    for bent in (replace(named, head="1" * 64), replace(named, root=bytes(32))):
        report = verify(JOURNAL, anchors=noted(bent, SIGNER), keys=KEYS)
        assert report.problems == ["rewritten: the anchor at 10 names another history"]
        assert report.anchored == 0


def test_a_journal_wound_back_is_found():
    """A shorter journal, as from an old backup, is not the one that was anchored."""
    report = verify(JOURNAL[:31], anchors=ANCHORS, keys=KEYS)
    assert report.problems == ["cut off: an anchor names 33 entries, 30 left"]


@pytest.mark.clause("ICNLI-12.5.04")
def test_old_ranges_stay_verifiable_after_a_rotation():
    """With the ring both keys of one name count; without the old key its anchor is not trusted."""
    anchors = anchor(JOURNAL, 10) + anchor(JOURNAL, 33, signer=NEXT)
    report = verify(JOURNAL, anchors=anchors, keys=ring(SIGNER, NEXT))
    assert report.is_good
    assert (report.anchors_good, report.anchored, report.distrusted) == (2, 33, 0)
    assert (report.notices, report.breaks) == ([], [])
    old_alone = verify(JOURNAL, anchors=anchor(JOURNAL, 10), keys=ring(SIGNER, NEXT))
    assert (old_alone.is_good, old_alone.anchored) == (True, 10)
    without = verify(JOURNAL, anchors=anchors, keys=ring(NEXT))
    assert without.problems == ["the anchor at 10 is not signed by a trusted key"]


@pytest.mark.clause("ICNLI-12.5.04")
def test_a_compromise_is_a_visible_break():
    """What only the stolen key anchored is unanchored, up to the next anchor by another key."""
    anchors = anchor(JOURNAL, 10) + anchor(JOURNAL, 20, signer=NEXT)
    report = verify(JOURNAL, anchors=anchors, keys=STOLEN)
    assert report.is_good
    assert (report.anchors_good, report.distrusted) == (1, 1)
    assert (report.anchored, report.unanchored_from) == (10, 11)
    assert report.notices == ["the anchor at 20 is signed only by a key called compromised"]
    start = "the key avow.example was called compromised at 25"
    gap = "entries 11 to 25 had no anchor by another key"
    assert report.breaks == [f"{start}: {gap}"]
    later = verify(JOURNAL, anchors=anchors + anchor(JOURNAL, 33, signer=THIRD), keys=STOLEN)
    assert (later.is_good, later.anchored, later.distrusted) == (True, 33, 1)
    assert later.breaks == [f"{start}: {gap} before the one at 33"]
    covered = verify(JOURNAL, anchors=anchor(JOURNAL, 25), keys=STOLEN)
    assert covered.breaks == [f"{start}: no entry rests on it alone"]


def test_a_second_signature_by_a_good_key_counts():
    """An anchor that the stolen key signed is as good as the other key that signed it too."""
    both = anchor(JOURNAL, 20, signer=NEXT, also=[SIGNER])
    report = verify(JOURNAL, anchors=both, keys=STOLEN)
    assert (report.anchored, report.distrusted, report.notices) == (20, 0, [])


@pytest.mark.clause("IRL-6.03")
def test_a_stolen_key_cannot_make_an_honest_journal_look_bad():
    """Forged anchors that name another history, more entries or another journal are notices."""
    forged = (
        anchor(OTHER, 20, signer=NEXT)
        + anchor(OTHER, 0, signer=NEXT)
        + anchor(written(contents(60)), 60, signer=NEXT)
        + anchor(JOURNAL, 5, signer=NEXT, origin="elsewhere")
    )
    report = verify(JOURNAL, anchors=ANCHORS + forged, keys=STOLEN)
    assert report.problems == []
    assert (report.anchored, report.anchors_good, report.distrusted) == (33, 2, 4)
    by = "by a key called compromised"
    assert f"rewritten: the anchor at 20 names another history, {by}" in report.notices
    assert f"cut off: an anchor names 60 entries, 40 left, {by}" in report.notices
    trusting = verify(JOURNAL, anchors=ANCHORS + forged, keys=ring(SIGNER, NEXT, THIRD))
    assert len(trusting.problems) == 3


@pytest.mark.clause("IRL-6.03", "ICNLI-12.4.02")
def test_a_stolen_key_cannot_make_a_rewritten_journal_look_good():
    """A rewrite is found by an older or later anchor of another key, or stays unanchored."""
    for at in (1, 11, 20):
        listed = contents(40)
        listed[at - 1]["note"] = "another story"
        lines = written(listed)
        forged = anchor(lines, 20, signer=NEXT) + anchor(lines, 40, signer=NEXT)
        report = verify(lines, anchors=anchor(JOURNAL, 10) + forged, keys=STOLEN)
        assert report.anchored < at
        assert report.is_good == (at > 10)
        later = anchor(JOURNAL, 33, signer=THIRD)
        assert not verify(lines, anchors=later + forged, keys=STOLEN).is_good


def test_a_journal_cannot_be_rid_of_its_anchors():
    """A rewrite that records the key of the old anchors as compromised is found all the same."""
    told = {"kind": "key", "name": SIGNER.name, "public": SIGNER.public_key.hex()}
    lines = written([{"kind": "x"}] * 39 + [{**told, "state": "compromised"}])
    report = verify(lines, anchors=ANCHORS, keys=KEYS)
    assert len(report.problems) == 2
    assert report.notices == ["entry 40 calls a key compromised that the key ring calls in use"]


def test_the_journals_own_record_of_its_keys():
    """Rotations are read from the chain in order, and where the ring differs it is told."""
    keys = keyring.read(ring(SIGNER, NEXT)).keys
    added = [{**key.content(), "state": "added"} for key in keys]
    lines = written([added[0], {"kind": "x"}, keys[0].content(), added[1]])
    report = verify(lines, keys=ring(SIGNER, NEXT))
    old, new = (key.public.hex() for key in keys)
    assert report.keys == [
        KeyEntry(1, "avow.example", old, "added"),
        KeyEntry(3, "avow.example", old, "retired"),
        KeyEntry(4, "avow.example", new, "added"),
    ]
    assert report.notices == []
    assert verify(lines).notices == []
    assert verify(lines, keys=STOLEN).notices == [
        "entry 4 calls a key added that the key ring calls compromised",
        "the key ring tells of 25 entries, 4 are here",
        "the key ring holds a key of `avow.example` that no entry names",
    ]
    assert verify(lines, keys=ring(NEXT)).notices == [
        "entry 3 calls a key retired that the key ring does not hold"
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"kind": "key"}, 1),
        ({"kind": "key", "name": 5, "public": "0" * 64, "state": "added"}, 1),
        ({"kind": "key", "name": "x", "public": "0" * 63, "state": "added"}, 1),
        ({"kind": "key", "name": "x", "public": "0" * 64, "state": "gone"}, 1),
        ({"kind": "x", "inside": {"kind": "key"}}, 0),
    ],
)
def test_an_odd_entry_about_a_key_is_told(content, told):
    """An entry about a key that cannot be read is a notice, one that only quotes the words is not."""
    report = verify(written([content]))
    assert report.is_good
    assert report.keys == []
    assert report.notices == ["entry 1 speaks of a key and cannot be read"] * told


def test_a_body_that_is_not_json_does_not_stop_the_verifier():
    """Whatever a hostile export holds behind the words is told and not raised."""
    for body in (b'{"kind":"key","n":1}}', b"[" * 99_999 + b'{"kind":"key","n":1}'):
        hashed = hashlib.sha256(b"avow-journal-1\n" + b"0" * 64 + b"\n" + body).hexdigest()
        report = verify([JOURNAL[0], b"1 " + hashed.encode() + b" " + body])
        assert report.notices == ["entry 1 speaks of a key and cannot be read"]


LINE = KEYS.rstrip()
# A key of another algorithm, with the id that fits it.
OTHER_KIND = (
    f"x+{hashlib.sha256(b'x' + bytes([10, 2]) + bytes(32)).hexdigest()[:8]}+"
    + base64.b64encode(bytes([2]) + bytes(32)).decode()
)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("nonsense", "line 1 of the key ring is not a key"),
        (f"{LINE} gone", "line 1 of the key ring is not a key"),
        (LINE.replace("avow", "ovow"), "does not fit"),
        (OTHER_KIND, "does not fit"),
        (f"{KEYS}{LINE} retired", "line 2 of the key ring repeats a key"),
        (KEYS + keyring.VerifierKey(name="x", public=SIGNER.public_key).written(), "repeats a key"),
    ],
)
def test_a_bad_key_ring_is_a_problem(keys, told):
    """A line that is no key, does not fit or repeats one makes the report bad."""
    report = verify(JOURNAL, keys=keys)
    assert any(told in problem for problem in report.problems)


@given(st.data())
def test_writer_and_verifier_read_the_same_rings(data):
    """A bent ring is refused by both or gives both the same keys."""
    text = bytearray(STOLEN.encode())
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text) - 1))
        match data.draw(st.integers(0, 2)):
            case 0:
                text[at] = data.draw(st.sampled_from(b"\n +015Aa=\x01"))
            case 1:
                del text[at]
            case _:
                text[at:at] = data.draw(
                    st.sampled_from([b"\n", b" ", b" retired", STOLEN.encode()])
                )
    bent, told = text.decode(), []
    found = list(verifier.read_keys(bent, told.append))
    try:
        expected = keyring.read(bent).keys
    except MalformedError:
        assert told
        return
    assert told == []
    assert [(key.name, key.id, key.public, key.state, key.size) for key in found] == [
        (key.name, key.id, key.public, key.state.value, key.compromised_at) for key in expected
    ]


def test_progress_is_told():
    """A long walk tells every ten thousand entries where it is, and finds anchors in between."""
    lines, told = written([{"kind": "x"}] * 20_001), []
    anchors = anchor(lines, 10_000) + anchor(lines, 15_000) + anchor(lines, 20_001)
    report = verify(lines, anchors=anchors, keys=KEYS, progress=told.append)
    assert told == [10_000, 20_000]
    assert (report.anchors_good, report.anchored, report.unanchored_from) == (3, 20_001, 0)


def test_the_report_as_people_read_it():
    """It says what was verified, how far it is anchored, keys, breaks, notices and problems."""
    keys = keyring.read(STOLEN).keys
    lines = written([keys[1].content(), *contents(39)])
    anchors = anchor(lines, 10) + anchor(lines, 20, signer=NEXT)
    told = verify(lines, anchors=anchors, keys=STOLEN).lines()
    head = lines[-1].split(b" ")[1].decode()
    assert told[:5] == [
        f"journal {ORIGIN}: 40 entries, head {head}",
        "anchored up to 10, good anchors: 1",
        "unanchored from 11 on: only the chain fits there",
        "anchors not counted, their key is compromised: 1",
        f"key avow.example compromised at 1: {keys[1].public.hex()}",
    ]
    assert told[5].startswith("break: the key avow.example was called compromised at 25")
    assert told[6] == "notice: the anchor at 20 is signed only by a key called compromised"
    assert told[-1] == "nothing is wrong"
    bad = verify([b"avow-journal-export-1 a\x1b[2J\n", b"2 x\n"]).lines()
    assert bad[0].startswith("journal a\\u{1b}[2J: 0 entries")
    assert bad[-2:] == [
        "problem: entry 1 is missing or out of order",
        "this journal is not what was written",
    ]


@pytest.mark.parametrize(
    ("anchors", "told"),
    [
        (
            anchor(JOURNAL, 10, signer=Ed25519Signer("avow.example", b"x" * 32)),
            "not signed by a trusted",
        ),
        (
            anchor(JOURNAL, 10, signer=Ed25519Signer("mallory", b"k" * 32)),
            "not signed by a trusted",
        ),
        (anchor(JOURNAL, 10, origin="avow.example/other"), "an anchor is for `avow.example/other`"),
        (anchor(JOURNAL, 10).replace("\n10\n", "\n11\n"), "not signed by a trusted"),
        (anchor(JOURNAL, 10).replace("\n10\n", "\n010\n"), "not a checkpoint"),
        (anchor(JOURNAL, 10).replace(ORIGIN, "\ud800"), "not a checkpoint"),
        ("nonsense", "not a checkpoint"),
        (anchor(JOURNAL, 10).replace("— avow.example ", "— avow.example !"), "cannot be decoded"),
    ],
)
def test_a_bad_anchor_is_a_problem_and_anchors_nothing(anchors, told):
    """Another key, another name, another journal, a changed text or junk: told, never trusted."""
    report = verify(JOURNAL, anchors=anchors, keys=KEYS)
    assert any(told in problem for problem in report.problems)
    assert report.anchored == 0


def test_junk_beside_a_good_anchor_is_told():
    """The good checkpoint still anchors, and the report is bad because of the rest."""
    for junk in ("nonsense\n" + anchor(JOURNAL, 10), anchor(JOURNAL, 10) + "nonsense"):
        report = verify(JOURNAL, anchors=junk, keys=KEYS)
        assert report.problems == ["the anchor file holds something that is not a checkpoint"]
        assert report.anchored == 10


def test_a_long_list_of_problems_is_cut():
    """The report stays readable, and bad, however much is wrong."""
    report = verify(JOURNAL, anchors=anchor(JOURNAL, 10, origin="x") * 80, keys=KEYS)
    assert len(report.problems) == 50
    assert not report.is_good


def test_the_verifier_shares_nothing_with_the_writer():
    """It imports the standard library and its own signature check, so a stranger can copy it."""
    for module, allowed in ((verifier, {"avow.clients"}), (ed25519, set())):
        tree = ast.parse(Path(module.__file__).read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name for name in imported if name.startswith("avow")} == allowed


# RFC 8032, section 7.1, tests 1 to 3 and the one over SHA("abc"): key, message, signature.
RFC = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("key", "message", "signature"), RFC)
def test_signatures_of_the_rfc(key, message, signature):
    """The published vectors check, and no bit of them may change."""
    key, message, signature = (bytes.fromhex(part) for part in (key, message, signature))
    assert ed25519.is_valid(key, message, signature)
    for bit in range(0, 512, 37):
        bent = bytearray(signature)
        bent[bit // 8] ^= 1 << (bit % 8)
        assert not ed25519.is_valid(key, message, bytes(bent))
    assert not ed25519.is_valid(key, message + b"x", signature)
    assert not ed25519.is_valid(key[:31], message, signature)
    assert not ed25519.is_valid(key, message, signature[:63])


def test_odd_keys_and_scalars_are_refused():
    """A scalar that is not reduced, points off the curve and points of small order check nothing."""
    key, message, signature = (bytes.fromhex(part) for part in RFC[1])
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(signature[32:], "little") + order
    assert not ed25519.is_valid(key, message, signature[:32] + scalar.to_bytes(32, "little"))
    neutral = (1).to_bytes(32, "little")
    assert not ed25519.is_valid(neutral, message, signature)
    assert not ed25519.is_valid(key, message, neutral + signature[32:])
    off = next(n for n in range(2, 20) if ed25519._point(n.to_bytes(32, "little")) is None)
    assert not ed25519.is_valid(off.to_bytes(32, "little"), message, signature)
    assert not ed25519.is_valid(b"\xff" * 32, message, signature)
    negative_zero = bytearray(neutral)
    negative_zero[31] |= 0x80
    assert ed25519._point(bytes(negative_zero)) is None


def test_it_agrees_with_the_library_that_signs():
    """Signatures of the product check here, for keys and messages of all kinds."""
    source = random.Random(5)
    for _ in range(12):
        signer = Ed25519Signer("x", source.randbytes(32))
        message = source.randbytes(source.randrange(80))
        assert ed25519.is_valid(signer.public_key, message, signer.sign(message))
    assert SIGNER.public_key != Ed25519Signer.generate("x").public_key
