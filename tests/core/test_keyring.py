"""The key ring: a text that loses nothing, keys that only ever get worse, every problem told."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import keyring
from avow.core.errors import MalformedError
from avow.core.keyring import KeyRing, KeyState, VerifierKey
from tests.tidy.sources import ROOT

NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters="+"), min_size=1
)
PUBLIC = st.binary(min_size=32, max_size=32)
SIZES = st.integers(0, keyring.SIZE_MAX)
OLD, NEW, OTHER = (bytes([number]) * 32 for number in (1, 2, 3))


@st.composite
def keys(draw):
    state = draw(st.sampled_from(KeyState))
    size = draw(SIZES) if state is KeyState.COMPROMISED else 0
    return VerifierKey(name=draw(NAMES), public=draw(PUBLIC), state=state, compromised_at=size)


RINGS = st.lists(keys(), max_size=5, unique_by=lambda key: key.public).map(
    lambda listed: KeyRing(tuple(listed))
)


def problems(text):
    with pytest.raises(MalformedError) as caught:
        keyring.read(text)
    assert caught.value.code == "keyring.invalid"
    return [(problem.path, problem.message) for problem in caught.value.problems]


@given(RINGS)
def test_a_ring_is_read_as_it_was_written(ring):
    """Writing and reading a ring gives the same keys, in the same order and states."""
    assert keyring.read(ring.written()) == ring
    assert ring.written().count("\n") == len(ring.keys)


def test_the_line_is_the_published_form():
    """Name, id and the byte 1 with the key in base64, joined by plus, and the state behind it."""
    hashed = hashlib.sha256(b"avow.example\n\x01" + OLD).hexdigest()[:8]
    line = f"avow.example+{hashed}+" + base64.b64encode(b"\x01" + OLD).decode()
    key = VerifierKey(name="avow.example", public=OLD)
    assert KeyRing((key,)).written() == f"{line}\n"
    assert keyring.read(f"{line} retired").keys[0].state is KeyState.RETIRED
    stolen = keyring.read(f"\n{line} compromised 25\n\n").keys[0]
    assert (stolen.state, stolen.compromised_at) == (KeyState.COMPROMISED, 25)
    assert stolen.id.hex() == hashed
    assert keyring.read("") == KeyRing()


def test_the_example_on_the_page_is_a_ring():
    """What strangers read is what is read here."""
    page = (ROOT / "docs" / "reference" / "journal-format.md").read_text()
    example = page.split("```text\n")[1].split("```")[0]
    ring = keyring.read(example)
    assert ring.written() == example
    assert [key.compromised_at for key in ring.keys] == [25, 0]


def test_rotation_keeps_the_name_and_the_old_key():
    """The old key is retired and stays; both are usable under one name, other names untouched."""
    first = keyring.rotated(KeyRing(), name="avow.example", public=OLD)
    second = keyring.rotated(first, name="witness", public=OTHER)
    third = keyring.rotated(second, name="avow.example", public=NEW)
    assert [(key.name, key.public, key.state) for key in third.keys] == [
        ("avow.example", OLD, KeyState.RETIRED),
        ("witness", OTHER, KeyState.IN_USE),
        ("avow.example", NEW, KeyState.IN_USE),
    ]
    assert third.keys[0].id != third.keys[2].id
    assert keyring.read(third.written()) == third


@given(RINGS, NAMES, PUBLIC, SIZES, SIZES)
def test_a_key_only_gets_worse(ring, name, public, size, more):
    """No rotation and no second telling takes a compromise back, and their order does not matter."""
    if public in {key.public for key in ring.keys}:
        return
    held = keyring.rotated(ring, name=name, public=public)
    told = keyring.compromised(held, public=public, size=size)
    again = keyring.compromised(told, public=public, size=more)
    other_way = keyring.compromised(held, public=public, size=more)
    assert again == keyring.compromised(other_way, public=public, size=size)
    assert again.keys[-1].compromised_at == max(size, more)
    fresh = bytes(32) if public != bytes(32) else bytes([1]) * 32
    if fresh not in {key.public for key in held.keys}:
        first = keyring.rotated(again, name=name, public=fresh)
        rotated = keyring.rotated(held, name=name, public=fresh)
        last = keyring.compromised(rotated, public=public, size=max(size, more))
        assert first == last
        assert first.keys[-2].state is KeyState.COMPROMISED
    assert [key.public for key in again.keys[:-1]] == [key.public for key in ring.keys]


def test_what_the_journal_says_of_a_key():
    """A key enters the journal's own record with its name, its public half and what became of it."""
    ring = keyring.rotated(KeyRing(), name="avow.example", public=OLD)
    added = {"kind": "key", "name": "avow.example", "public": OLD.hex(), "state": "added"}
    assert ring.keys[0].content() == added
    stolen = keyring.compromised(ring, public=OLD, size=7).keys[0]
    assert stolen.content() == {**added, "state": "compromised"}


LINE = VerifierKey(name="avow.example", public=OLD).written()
ALIAS = VerifierKey(name="mallory", public=OLD).written()
OTHER_KIND = base64.b64encode(b"\x02" + OLD).decode()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "a key is a name"),
        (LINE.replace("avow.example", ""), "a key is a name"),
        (LINE.replace("avow.example", "\ud800"), "a key is a name"),
        (LINE[:-1], "a key is a name"),
        (LINE.upper(), "a key is a name"),
        (f" {LINE}", "a key is a name"),
        (LINE.replace("avow", "ovow"), "does not fit"),
        (f"avow.example+00000000+{OTHER_KIND}", "not one of Ed25519"),
        (f"{LINE} ", "behind a key"),
        (f"{LINE}\r", "a key is a name"),
        (f"{LINE} gone", "behind a key"),
        (f"{LINE} retired 5", "behind a key"),
        (f"{LINE} compromised", "behind a key"),
        (f"{LINE} compromised 05", "behind a key"),
        (f"{LINE} compromised 12345678901234567", "behind a key"),
        (f"{LINE} compromised ٣", "behind a key"),
    ],
)
def test_what_is_not_a_key_is_refused(line, told):
    """Each part of a line has one form, and the id belongs to name and key."""
    found = problems(f"{VerifierKey(name='x', public=NEW).written()}\n{line}")
    assert any(path == "line 2" and told in message for path, message in found)


def test_every_problem_is_told_with_its_line():
    """Two faults of one line, a fault of another and a repeated key are told together."""
    text = "\n".join([LINE, f"{LINE.replace('avow', 'ovow')} gone", "", "nonsense", LINE])
    assert [path for path, _ in problems(text)] == ["line 2", "line 2", "line 4", "line 5"]


@pytest.mark.parametrize("twice", [[LINE, LINE], [f"{LINE} compromised 5", ALIAS]])
def test_the_same_key_twice_is_refused(twice):
    """Not even under another name, where a stolen key would still count as good."""
    assert problems("\n".join(twice))[0][1].endswith("stands there twice")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "with blank"},
        {"name": "a+b"},
        {"name": ""},
        {"public": OLD[:31]},
        {"state": KeyState.COMPROMISED, "compromised_at": -1},
        {"state": KeyState.COMPROMISED, "compromised_at": keyring.SIZE_MAX + 1},
        {"compromised_at": 5},
    ],
)
def test_no_key_exists_that_cannot_be_written(wrong):
    """The constructor refuses what the text could not hold."""
    with pytest.raises(MalformedError):
        VerifierKey(**{"name": "avow.example", "public": OLD, **wrong})


def test_a_change_that_makes_no_ring_is_refused():
    """A key that is there already cannot be added, and one that is not cannot be compromised."""
    ring = keyring.rotated(KeyRing(), name="avow.example", public=OLD)
    with pytest.raises(MalformedError, match="twice"):
        keyring.rotated(ring, name="other", public=OLD)
    with pytest.raises(MalformedError, match="does not hold"):
        keyring.compromised(ring, public=NEW, size=5)
