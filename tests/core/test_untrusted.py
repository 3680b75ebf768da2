"""Untrusted text is shown so that nothing hides in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core.untrusted import Untrusted, show


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain text, 100 %", "plain text, 100 %"),
        ("a\u202eb", "a\\u{202e}b"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("esc\x1b[31m", "esc\\u{1b}[31m"),
        ("two\nlines", "two\\nlines"),
        ("tab\there", "tab\\there"),
        ("back\\slash", "back\\\\slash"),
        ("no\u00a0break", "no\\u{a0}break"),
        ("sel\ufe0f", "sel\\u{fe0f}"),
        ("many   blanks", "many \\u{20}\\u{20}blanks"),
        ("tag\U000e0041", "tag\\u{e0041}"),
        ("größe 日本", "größe 日本"),
        ("e\u0301\u0302\u0303", "e\u0301\\u{302}\\u{303}"),
        (" x", " x"),
        ("a" * 60 + "é", "a" * 60 + "é"),
        (
            "Rename customer_email_address_normalised_v2 to é",
            "Rename customer_email_address_normalised_v2 to é",
        ),
    ],
)
def test_what_cannot_be_seen_is_written_out(raw, shown):
    """Controls, bidi marks, invisible characters and runs of blanks are spelled out."""
    assert str(Untrusted(raw)) == shown


@given(st.text(), st.text())
def test_different_texts_never_look_alike(one, other):
    """Showing is injective."""
    assert (show(one) == show(other)) is (one == other)


@given(st.text(st.sampled_from("ab \\é\u0301\u200b"), max_size=4000))
def test_long_texts_are_shown_in_no_time(text):
    """A text of any length and mixture comes back; the run would not end if this grew badly."""
    assert len(show(text)) >= len(text)


@given(st.text())
def test_nothing_unprintable_survives(text):
    """The shown form is one line of printable characters."""
    shown = show(text)
    assert shown.isprintable()
    assert "  " not in shown


def test_only_an_empty_text_is_false():
    """An empty text is falsy, a blank one is not."""
    assert not Untrusted("")
    assert Untrusted(" ")
