"""The chain: linked by hashes, positions inside, erasable texts as salted digests."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import journal
from avow.core.journal import GENESIS, Erasable


@pytest.mark.clause("ICNLI-12.5.01")
def test_the_hash_is_the_one_that_is_documented():
    """A stranger with a hash function and the description gets the same hash."""
    entry = journal.link(1, GENESIS, {"kind": "verdict", "at": 5})
    assert entry.body == b'{"at":5,"kind":"verdict","n":1}'
    expected = hashlib.sha256(b"avow-journal-1\n" + b"0" * 64 + b"\n" + entry.body).hexdigest()
    assert entry.hash == expected
    following = journal.link(2, entry.hash, {"kind": "x"})
    assert following.previous == entry.hash
    assert json.loads(following.body) == {"kind": "x", "n": 2}


@pytest.mark.clause("ICNLI-12.5.02")
@given(st.integers(1, 9), st.binary(max_size=40), st.integers(0, 39), st.integers(1, 255))
def test_any_change_changes_the_hash(position, noise, at, flip):
    """Another byte anywhere in the body, or another predecessor, gives another hash."""
    entry = journal.link(position, GENESIS, {"noise": noise.hex()})
    changed = bytearray(entry.body)
    changed[at % len(changed)] ^= flip
    assert journal.hash_of(GENESIS, bytes(changed)) != entry.hash
    assert journal.hash_of("1" * 64, entry.body) != entry.hash


def test_an_erasable_text_is_bound_by_its_salt():
    """The digest depends on text and salt, and tells nothing without them."""
    one = Erasable("goal", b"s" * 16, "text")
    assert one.digest == Erasable("other", b"s" * 16, "text").digest
    assert one.digest != Erasable("goal", b"t" * 16, "text").digest
    assert one.digest != Erasable("goal", b"s" * 16, "texT").digest
