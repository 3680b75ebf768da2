"""RFC 8785, by its own examples and against another implementation."""

import json
import math
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from avow.core import canonical

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)


def values(floats):
    return st.recursive(
        st.none() | st.booleans() | INTEGERS | floats | TEXTS,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
        max_leaves=20,
    )


VALUES = values(st.floats(allow_nan=False, allow_infinity=False))

# The number samples of RFC 8785, appendix B: IEEE 754 bits and the spelling.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "spelled"), NUMBERS)
def test_numbers_are_spelled_as_the_rfc_lists_them(bits, spelled):
    """Every number sample of the RFC comes out exactly as printed there."""
    value = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert canonical.encode(value).decode() == spelled


def test_keys_are_ordered_by_utf16():
    """A key outside the basic plane sorts before one above the surrogates, as in UTF-16."""
    value = {"\ufb33": 1, "\U0001f600": 2, "a": 3}
    assert canonical.encode(value) == '{"a":3,"\U0001f600":2,"\ufb33":1}'.encode()


@given(VALUES)
def test_agrees_with_another_implementation(value):
    """For any JSON value the bytes are those of an independent RFC 8785 library."""
    assert canonical.encode(value) == rfc8785.dumps(value)


@given(values(st.floats(-(2.0**53), 2.0**53)))
def test_reading_it_back_and_writing_again_changes_nothing(value):
    """Canonical bytes of anything admission lets through are a fixed point of parse and encode."""
    once = canonical.encode(value)
    assert canonical.encode(json.loads(once)) == once


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 2**53 + 1, -(2**53) - 1, {1: 2}, b"x", "\ud800", {"\udfff": 1}]
)
def test_what_has_no_single_spelling_is_refused(value):
    """NaN, infinities, large integers, odd keys, bytes and lone surrogates raise."""
    with pytest.raises(ValueError, match=r".+"):
        canonical.encode(value)


def test_a_digest_is_bound_to_its_domain():
    """The same bytes in two domains have two digests."""
    assert canonical.digest("a", b"x") != canonical.digest("b", b"x")
    assert canonical.digest("a", b"x") == canonical.digest("a", b"x")


@given(
    st.dictionaries(
        st.text("abcdefghijklmnopqrstuvwxyz_", max_size=6),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text("abc_", max_size=3), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=8,
    )
)
def test_the_fast_way_writes_the_same(value):
    """What is made here is written through the encoder in C to the very same bytes."""
    assert canonical.encode_own(value) == canonical.encode(value)
