"""What the digest covers, and that it is canonical."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import canonical, codec, intent
from avow.dialects.irl import lower
from tests.records import NEUTRAL, record
from tests.reference import generator

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: text.strip()
)

SIGNATURE = {
    "did": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    "id": "signed-1",
    "signed_ms": 1,
    "value": "A" * 86 + "==",
}


def digest(value):
    return intent.seal(lower.read(value), source_digest="").digest


@st.composite
def records(draw):
    """Return a random record with free texts of any script and extension fields."""
    made = generator.draw(random.Random(draw(st.integers(0, 2**32)))).record
    made["agent"]["id"] = draw(WORDS)
    made["operation"]["target_resource"] = draw(WORDS)
    made["rationale"]["stated_goal"] = draw(WORDS)
    made["consequences"]["downstream_services"] = draw(st.lists(WORDS, max_size=2))
    if draw(st.booleans()):
        made["x_note"] = draw(st.dictionaries(WORDS, st.floats(-1e9, 1e9) | WORDS, max_size=2))
    if draw(st.booleans()):
        made["operation"]["tool_call"] = {
            "server": "s",
            "tool": "t",
            "arguments": draw(st.dictionaries(WORDS, st.floats(-1e9, 1e9), max_size=2)),
        }
    return made


@given(records())
def test_the_written_meaning_is_canonical(made):
    """What is digested is exactly RFC 8785, whatever texts and numbers it holds."""
    text = codec.meaning(lower.read(made))
    assert canonical.encode(json.loads(text)) == text.encode()


@given(records())
def test_reading_back_gives_the_same_meaning(made):
    """A meaning that was stored is judged again as the same declaration."""
    declared = lower.read(made)
    text = codec.meaning(declared)
    again = codec.declaration(json.loads(text))
    assert codec.meaning(again) == text
    assert again.effects == declared.effects
    assert again.claims == declared.claims


def test_two_spellings_of_one_meaning_have_one_digest():
    """Key order, defaults spelled out, session, signature and self-made verdicts do not matter."""
    plain = digest(NEUTRAL)
    turned = dict(reversed(NEUTRAL.items()))
    assert digest(turned) == plain
    assert digest(record(scope="permanent", estimated_rows_affected=-1)) == plain
    assert digest(record(session_id="ses_1")) == plain
    assert digest({**NEUTRAL, "risk": {"score": 0}, "verdict": 3}) == plain
    assert digest({**NEUTRAL, "signature": SIGNATURE}) == plain
    assert digest(record(target_resource="Table:/orders/")) == plain


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "agent-2"},
        {"model": "m"},
        {"trust_level": "high"},
        {"type": "write"},
        {"target_resource": "table:customers"},
        {"target_environment": "local"},
        {"source_environment": "staging"},
        {"command": "ls"},
        {"sql": "ls"},
        {"scope": "temporary"},
        {"estimated_rows_affected": 1},
        {"stated_goal": "x"},
        {"assumed_safe": True},
        {"verified": False},
        {"alternatives_considered": ["another", "way"]},
        {"evidence": ["f"]},
        {"reversible": False},
        {"rollback_plan": False},
        {"data_loss_risk": "partial"},
        {"affects_backups": True},
        {"downstream_services": ["a"]},
        {"snapshot_id": "s"},
    ],
)
def test_another_meaning_has_another_digest(fields):
    """Each field that bears on meaning changes the digest."""
    assert digest(record(**fields)) != digest(NEUTRAL)


def test_extension_fields_are_part_of_the_meaning():
    """A field of one's own is kept and digested, at the top and inside a group."""
    top = digest({**NEUTRAL, "x_ticket": "T-1"})
    inner = digest({**NEUTRAL, "agent": {**NEUTRAL["agent"], "x_ticket": "T-1"}})
    assert len({top, inner, digest(NEUTRAL)}) == 3
