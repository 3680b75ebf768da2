"""The stand-alone verifier: what was tampered with is found, what is not anchored is said."""

import ast
import hashlib
import random
from pathlib import Path

import pytest

from avow.adapters.signer import Ed25519Signer
from avow.clients import ed25519, verifier
from avow.clients.verifier import verify
from tests.journals import KEYS, ORIGIN, SIGNER, anchor, contents, tampered, written

JOURNAL = written(contents(40))
ANCHORS = anchor(JOURNAL, 10) + "\n" + anchor(JOURNAL, 33)


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


@pytest.mark.clause("IRL-6.03", "ICNLI-12.5.02")
@pytest.mark.campaign
def test_two_thousand_random_tamperings():
    """Every edit, deletion, repetition, reordering, truncation or rewrite up to the anchor is found."""
    source = random.Random(11)
    found = 0
    for _ in range(2000):
        lines, touched = tampered(JOURNAL, source)
        report = verify(lines, anchors=ANCHORS, keys=KEYS)
        if touched <= 33:
            assert not report.is_good, (touched, report)
            found += 1
        elif report.is_good:
            assert report.unanchored == report.entries - 33
    assert found > 1500


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


def test_a_journal_wound_back_is_found():
    """A shorter journal, as from an old backup, is not the one that was anchored."""
    report = verify(JOURNAL[:31], anchors=ANCHORS, keys=KEYS)
    assert report.problems == ["cut off: an anchor names 33 entries, 30 left"]


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
