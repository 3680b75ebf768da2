"""Resource identity: spellings of one thing are equal, different things are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import resource

SEGMENT = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6)


@pytest.mark.clause("IRL-2.06")
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("volume:prod-db-main", "VOLUME:/prod-db-main"),
        ("Volume:prod-db-main", "VOLUME:/prod-db-main"),
        ("volume:/prod-db-main/", "VOLUME:/prod-db-main"),
        ("prod-db-main", "RESOURCE:/prod-db-main"),
        (":prod", "RESOURCE:/prod"),
        ("/srv/a:b", "RESOURCE:/srv/a:b"),
        ("file:/srv//data/./x/../y", "FILE:/srv/data/y"),
        ("file:/../../etc", "FILE:/etc"),
        ("https://API.example.com/v1/users", "HTTPS://api.example.com/v1/users"),
        ("  volume:a ", "VOLUME:/a"),
        ("volume:e\u0301", "VOLUME:/\u00e9"),
        ("database: prod-main / orders", "DATABASE:/prod-main/orders"),
    ],
)
def test_reading(text, form):
    """Every spelling of a target is brought to one form."""
    assert str(resource.read(text)) == form


@pytest.mark.parametrize(
    "text",
    [
        "volume:",
        "volume:/",
        "/",
        ":",
        "file:/srv/*",
        "db:prod-*/x",
        "https://*/x",
        "file: /",
        "/ /x/..",
        "file://./",
    ],
)
def test_roots_and_wildcards_are_broad(text):
    """A root or a wildcard names more than one thing."""
    assert resource.read(text).is_broad


@pytest.mark.parametrize("text", ["volume:prod", "https://host", "file:/srv/*/.."])
def test_a_single_thing_is_not_broad(text):
    """A named thing names one thing."""
    assert not resource.read(text).is_broad


@pytest.mark.parametrize(
    ("outer", "inner", "contains"),
    [
        ("file:/data", "file:/data/x", True),
        ("file:/data", "file:/data", True),
        ("file:/data", "file:/data-old", False),
        ("file:/data/x", "file:/data", False),
        ("file:/data", "db:/data/x", False),
        ("https://a/x", "https://b/x", False),
    ],
)
def test_ancestry_is_by_segments(outer, inner, contains):
    """A shared prefix of letters does not make a parent."""
    assert resource.read(outer).contains(resource.read(inner)) is contains


@given(st.text(max_size=60))
def test_reading_is_total_and_stable(text):
    """Any text names a resource, and the name of a resource names the same resource."""
    once = resource.read(text)
    if "/" not in once.scheme and once.segments == tuple(s.strip() for s in once.segments):
        assert resource.read(str(once)).segments == once.segments


@given(st.lists(SEGMENT, min_size=1, max_size=5), st.lists(SEGMENT, max_size=3))
def test_a_path_contains_what_extends_it(path, more):
    """Appending segments stays inside; dropping the last one leaves it, unless it was a root."""
    outer = resource.Resource("FILE", "", tuple(path))
    inner = resource.Resource("FILE", "", (*path, *more))
    assert outer.contains(inner)
    assert inner.contains(outer) is (not more)
