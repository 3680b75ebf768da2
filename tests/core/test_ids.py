"""Identifiers come from time and entropy that the caller brings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import ids

MOMENTS = st.integers(0, 2**48 - 1)
ENTROPY = st.binary(min_size=ids.ENTROPY_BYTES, max_size=ids.ENTROPY_BYTES)


def test_the_published_ulid_layout():
    """The largest ULID is the one its specification prints; the smallest is all zeros."""
    assert ids.ulid(2**48 - 1, b"\xff" * 10) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
    assert ids.ulid(0, bytes(10)) == "0" * 26


@given(MOMENTS, MOMENTS, ENTROPY, ENTROPY)
def test_ids_sort_by_time(one, other, entropy, more):
    """The order of ids is the order of their moments."""
    if one != other:
        assert (ids.ulid(one, entropy) < ids.ulid(other, more)) is (one < other)


@pytest.mark.parametrize(("now", "entropy"), [(-1, bytes(10)), (2**48, bytes(10)), (0, bytes(9))])
def test_arguments_out_of_range_are_our_own_bug(now, entropy):
    """A negative or distant time or short entropy is an assertion, not a wrong id."""
    with pytest.raises(AssertionError):
        ids.ulid(now, entropy)


def test_a_verdict_id_says_what_it_is():
    """The prefix names the kind of id."""
    assert ids.verdict_id(0, bytes(10)) == "ver_" + "0" * 26
