"""The library's door: `avow.evaluate` and what it exports."""

import json
import logging

import pytest

import avow
from avow.core.errors import CODES, ConflictError, Family, FaultError, RefusedError
from avow.core.resource import read
from tests.records import NEUTRAL, body, record


def test_what_is_exported_is_promised():
    """The list of exports is complete and sorted, and every name exists."""
    assert sorted(avow.__all__) == avow.__all__
    assert all(hasattr(avow, name) for name in avow.__all__)


def test_bytes_text_and_dictionaries_are_one():
    """The three forms of a record give the same verdict."""
    verdicts = [avow.evaluate(form) for form in (NEUTRAL, body(NEUTRAL), json.dumps(NEUTRAL))]
    assert len({verdict.digest for verdict in verdicts}) == 1
    assert {verdict.outcome for verdict in verdicts} == {avow.Outcome.ALLOW}


@pytest.mark.parametrize(
    "odd",
    [
        {**NEUTRAL, "x_set": {1, 2}},
        {**NEUTRAL, "x_nan": float("nan")},
        {**NEUTRAL, "x_bytes": b"x"},
        {**NEUTRAL, 1: "a", "1": "b"},
        {**NEUTRAL, "x_big": 2**60},
        {**NEUTRAL, "x_half": "\ud800"},
        '{"x": "\ud800"}',
        [NEUTRAL],
        None,
        3,
    ],
)
def test_what_json_has_no_form_for_is_malformed(odd):
    """A dictionary passes the same strict reader as bytes do."""
    with pytest.raises(avow.MalformedError):
        avow.evaluate(odd)


def test_a_cyclic_dictionary_is_malformed():
    """A structure without an end is refused, not followed."""
    endless = dict(NEUTRAL)
    endless["x_self"] = endless
    with pytest.raises(avow.MalformedError):
        avow.evaluate(endless)


def test_trust_is_what_the_caller_registered():
    """Without a word the agent is low; with one it counts; another word is an error."""
    declared = record(type="write", trust_level="high")
    assert avow.evaluate(declared).score == 20
    assert avow.evaluate(declared, trust="high").score == 10
    assert avow.evaluate(declared, policy="irl-0.1").score == 10
    with pytest.raises(avow.MalformedError, match="`root` is not one of"):
        avow.evaluate(declared, trust="root")


def test_an_inventory_can_be_given():
    """What the caller knows of resources counts."""
    known = avow.Inventory(resources={read("table:orders"): avow.Known(protected=True)})
    assert avow.evaluate(record(type="write"), inventory=known).outcome is avow.Outcome.GATE


@pytest.mark.clause("IRL-6.12")
def test_a_policy_file_is_reloaded_and_the_last_good_one_kept(tmp_path, caplog):
    """A changed file counts at once; a broken one is shouted about and changes nothing."""
    file = tmp_path / "policy.toml"
    rule = '[[rules]]\nid = "OWN-001"\nslug = "staging-writes"\noutcome = "GATE"\nsays = "staging write"\n'
    when = 'when = { all = [{ field = "means", is = "write" }, { field = "environment", is = "staging" }] }\n'
    file.write_text('extends = "default"\nname = "own"\n')
    declared = record(type="write")
    before = avow.evaluate(declared, policy=file)
    assert before.outcome is avow.Outcome.LOG_ALLOW
    file.write_text('extends = "default"\nname = "own"\n' + rule + when)
    after = avow.evaluate(declared, policy=file)
    assert after.outcome is avow.Outcome.GATE
    assert after.decided_by.id == "OWN-001"
    assert after.policy.digest != before.policy.digest
    with caplog.at_level(logging.ERROR, "avow.policy"):
        file.write_text(rule)
        assert avow.evaluate(declared, policy=file).policy.digest == after.policy.digest
    assert "the last good one stays in force" in caplog.text


def test_a_policy_that_was_never_good_is_refused(tmp_path):
    """There is nothing to fall back to at the start: missing and broken files raise."""
    with pytest.raises(avow.MalformedError):
        avow.evaluate(NEUTRAL, policy=tmp_path / "missing.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ")
    with pytest.raises(avow.MalformedError):
        avow.evaluate(NEUTRAL, policy=broken)


def test_the_error_tree():
    """Every code has a family, a status, a meaning and a hint; errors carry them."""
    for code, entry in CODES.items():
        assert code == code.lower()
        assert entry.meaning[0].islower() or entry.meaning.startswith("Avow")
        assert not entry.meaning.endswith(".")
        assert entry.hint
        assert entry.status in {Family.MALFORMED: (400, 422), Family.FAULT: (500, 503)}.get(
            entry.family, (401, 403, 404, 409, 410, 412, 429)
        )
    fault = FaultError("inc_1")
    assert (fault.code, fault.status, fault.family) == ("fault.internal", 500, Family.FAULT)
    assert "inc_1" in fault.message
    assert fault.hint == CODES["fault.internal"].hint
    assert RefusedError.family is Family.REFUSED
    assert ConflictError.family is Family.CONFLICT


def test_a_malformed_error_reads_well():
    """Its text counts and lists the problems."""
    with pytest.raises(avow.MalformedError) as caught:
        avow.evaluate(record(verified="x", reversible="y"))
    text = str(caught.value)
    assert text.startswith("2 problems: rationale.verified: expected true or false; ")
    assert caught.value.hint
