"""Admission: what two readers could read as two meanings is refused, with every problem."""

import json

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core.codes import CODES
from avow.core.errors import MalformedError
from avow.dialects import diagnosis, reading
from avow.dialects.reading import Limits, admit, strip_comments

INTEGER = 2**53


def refused(body, limits=Limits()):  # noqa: B008 - frozen
    with pytest.raises(MalformedError) as caught:
        admit(body, limits)
    return caught.value


@pytest.mark.clause("IRL-2.21")
@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        (b"", "", "declaration.empty"),
        (b"  \n", "", "declaration.empty"),
        (b"{", "", "declaration.not_json"),
        (b"{}x", "", "declaration.not_json"),
        (b"[1,]", "", "declaration.not_json"),
        (b"{'a': 1}", "", "declaration.not_json"),
        (b"01", "", "declaration.not_json"),
        (b"\xef\xbb\xbf{}", "", "declaration.not_json"),
        (b'{"a": 1} // why', "", "declaration.not_json"),
        (b'"a\nb"', "", "declaration.not_json"),
        (b"nul", "", "declaration.not_json"),
        (b'{"a": \xff}', "", "declaration.bad_text"),
        (b'"\xed\xa0\x80"', "", "declaration.bad_text"),
        (b'{"a": "\\ud800"}', "a", "declaration.bad_text"),
        (b'{"\\udc00": 1}', "?", "declaration.bad_text"),
        (b'{"a": 1, "a": 2}', "a", "declaration.duplicate_key"),
        (b'{"a": 1, "\\u0061": 1}', "a", "declaration.duplicate_key"),
        (b'{"o": {"a": [0, {"b": 1, "b": 1}]}}', "o.a[1].b", "declaration.duplicate_key"),
        (b'{"a": NaN}', "a", "declaration.number_out_of_range"),
        (b'{"a": -Infinity}', "a", "declaration.number_out_of_range"),
        (b'{"a": 1e400}', "a", "declaration.number_out_of_range"),
        (b'{"a": 1e20}', "a", "declaration.number_out_of_range"),
        (b'{"a": 9007199254740993.0}', "a", "declaration.number_out_of_range"),
        (b'{"a": 9007199254740993}', "a", "declaration.number_out_of_range"),
        (b'{"a": [-9007199254740993]}', "a[0]", "declaration.number_out_of_range"),
        (b'{"a": ' + b"9" * 6000 + b"}", "a", "declaration.number_out_of_range"),
        (b"[" * 33 + b"]" * 33, "", "declaration.too_deep"),
        (b"[" * 5000 + b"]" * 5000, "", "declaration.too_deep"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "", "declaration.too_deep"),
    ],
)
def test_each_defect_is_named_with_its_path(body, path, code):
    """One defect at a time: refused with the code and the place."""
    error = refused(body)
    assert (path, code) in {(problem.path, problem.code) for problem in error.problems}
    assert error.status == 400


def test_all_defects_of_a_body_are_listed():
    """Several defects in one body come back together."""
    body = b'{"a": NaN, "b": {"c": 1, "c": 2}, "d": "\\ud800", "e": 1e999}'
    found = {(problem.path, problem.code) for problem in refused(body).problems}
    assert found == {
        ("a", "declaration.number_out_of_range"),
        ("b.c", "declaration.duplicate_key"),
        ("d", "declaration.bad_text"),
        ("e", "declaration.number_out_of_range"),
    }


def test_a_body_full_of_defects_gets_a_bounded_answer():
    """A thousand defects do not make an answer of a thousand lines."""
    body = b"[" + b",".join([b"NaN"] * 1000) + b"]"
    assert len(refused(body).problems) == 100


@pytest.mark.parametrize(
    "body",
    [
        b"9007199254740992",
        b"-9007199254740992",
        b"[" * 32 + b"]" * 32,
        b'"\\ud83d\\ude00"',
        b"1e3",
        b'{"a": 1, "b": {"a": 1}}',
        b'{"brackets": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}',
    ],
)
def test_the_bounds_are_inside(body):
    """What lies exactly on a bound is admitted and read as JSON."""
    assert admit(body) == json.loads(body)


def test_size_is_bounded_to_the_byte():
    """One byte more than allowed is refused, and nothing is parsed."""
    limits = Limits(size_bytes_max=10)
    assert admit(b'"12345678"', limits) == "12345678"
    assert refused(b'"123456789"', limits).code == "declaration.too_large"


@given(st.binary(max_size=200))
def test_any_bytes_are_admitted_or_refused(body):
    """Garbage never crashes the reader, and what is admitted is what JSON says it is."""
    try:
        value = admit(body)
    except MalformedError as error:
        assert error.problems
        assert all(problem.code in CODES for problem in error.problems)
        error.message.encode()
    else:
        assert value == json.loads(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-INTEGER, INTEGER) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@given(JSON)
def test_every_plain_json_value_is_admitted(value):
    """Nothing that is unambiguous is refused, except text that has no UTF-8 form."""
    text = json.dumps(value)
    try:
        assert admit(text.encode()) == value
    except MalformedError as error:
        assert {problem.code for problem in error.problems} == {"declaration.bad_text"}


def test_the_slow_reader_never_says_yes():
    """Where only the strict reader sees a fault, its word is passed on."""
    told = diagnosis.problems(b"{}", 32, first="Something odd")
    assert [(problem.code, problem.message) for problem in told] == [
        ("declaration.not_json", "something odd")
    ]


@pytest.mark.clause("IRL-2.22")
def test_comments_are_blanked_out_in_place():
    """Comments become blanks of the same length; what looks like one in a string stays."""
    body = b'{"a": "http://x\\"//y", // why\n "b": 1} // end'
    stripped = strip_comments(body)
    assert len(stripped) == len(body)
    assert json.loads(stripped) == {"a": 'http://x"//y', "b": 1}
    assert strip_comments(b'{"a": 1}') == b'{"a": 1}'


def test_a_comment_ends_with_its_line_however_that_ends():
    """After a bare carriage return the text counts again, as it does for other readers."""
    assert json.loads(strip_comments(b'{"a": 1, // why\r "b": 2}')) == {"a": 1, "b": 2}


def test_a_string_without_an_end_is_passed_over_once():
    """Two hundred kilobytes of quotes and backslashes cost no more than reading them."""
    body = b'//\n"' + b'\\"' * 100_000
    assert strip_comments(body) == body.replace(b"//", b"  ")


@given(JSON)
def test_stripping_leaves_json_alone(value):
    """A document without comments is not changed, whatever its strings hold."""
    body = json.dumps(value).encode()
    assert strip_comments(body) == body


def test_the_fast_reader_is_the_one_we_think():
    """The library still sees duplicates and refuses NaN, which admission leans on."""
    for body in (b'{"a":1,"a":2}', b"NaN"):
        with pytest.raises(ValueError, match=r".+"):
            jiter.from_json(body, allow_inf_nan=False, catch_duplicate_keys=True)


def test_a_text_with_nul_is_refused():
    """U+0000, in a value or a key, is told with its path; an escaped backslash before it is not it."""
    for body, path in ((rb'{"a": {"b": "x\u0000"}}', "a.b"), (rb'{"a\u0000": 1}', "a\0")):
        with pytest.raises(MalformedError) as caught:
            reading.admit(body)
        assert [(p.path, p.code) for p in caught.value.problems] == [(path, "declaration.bad_text")]
    assert reading.admit(rb'{"a": "\\u0000"}') == {"a": r"\u0000"}
