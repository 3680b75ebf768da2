"""The library's door: `avow.evaluate` and what it exports."""

import json
import logging

import pytest

import avow
from avow import wiring
from avow.core.codes import CODES, Family
from avow.core.errors import ConflictError, FaultError, RefusedError
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
    assert avow.evaluate(declared, trust=avow.Trust.HIGH).score == 10
    for wrong in ("root", [], 2):
        with pytest.raises(avow.MalformedError, match="is not one of"):
            avow.evaluate(declared, trust=wrong)


def test_an_inventory_can_be_given():
    """What the caller knows of resources counts."""
    known = avow.Inventory(resources={read("table:orders"): avow.Known(protected=True)})
    assert avow.evaluate(record(type="write"), inventory=known).outcome is avow.Outcome.GATE


def test_an_inventory_takes_plain_values_and_refuses_others():
    """Texts and flags are read as our own words; what cannot be read is an error, not silence."""
    facts = {"environment": "production", "affects_backups": True, "protected": True}
    plain = avow.Inventory(
        resources={"database:prod-main": avow.Known(**facts)},
        snapshots={"snap_1": "table:orders"},
        facts=["fact_1"],
    )
    declared = record(type="write", target_resource="database: prod-main/orders")
    verdict = avow.evaluate({**declared}, inventory=plain)
    assert verdict.cases[0].environment is avow.Environment.PRODUCTION
    assert verdict.hazard == 4
    assert "POL-017" in {finding.id for finding in verdict.findings}
    for wrong in (
        {"environment": "prod"},
        {"affects_backups": "yes"},
        {"reversible_delete": 1},
        {"protected": "no"},
    ):
        with pytest.raises(avow.MalformedError):
            avow.Known(**wrong)
    for wrong in ({"resources": {3: avow.Known()}}, {"resources": {"a:b": {}}}):
        with pytest.raises(avow.MalformedError):
            avow.Inventory(**wrong)


def test_what_is_known_of_a_parent_holds_below_it():
    """The worst of all that is known along the path counts."""
    inventory = avow.Inventory(
        resources={
            "db:main": avow.Known(environment="production", reversible_delete=False),
            "db:main/a": avow.Known(environment="local", affects_backups=True),
            "db:main/a/b": avow.Known(
                affects_backups=False, reversible_delete=True, protected=True
            ),
        }
    )
    known = inventory.known(read("db:main/a/b/c"))
    assert known.environment is avow.Environment.PRODUCTION
    assert (known.affects_backups, known.reversible_delete, known.protected) == ("yes", "no", True)
    assert inventory.known(read("db:other")) == avow.Known()
    assert inventory.known(read("db:main/a")).affects_backups == "yes"
    mild = avow.Inventory(
        resources={"a:b": avow.Known(protected=True), "a:b/c": avow.Known(affects_backups=False)}
    )
    assert mild.known(read("a:b/c")).affects_backups == "no"
    assert inventory.known(read("db:main/x")).environment is avow.Environment.PRODUCTION


def test_a_softer_policy_is_logged(caplog):
    """Using a policy that relaxes is told to the log, once for each source."""
    wiring._source.cache_clear()
    with caplog.at_level(logging.WARNING, "avow.policy"):
        avow.evaluate(NEUTRAL, policy="irl-0.1")
        avow.evaluate(NEUTRAL, policy="irl-0.1")
    assert caplog.text.count("policy irl-0.1 is softer than the built-in one") == 1


@pytest.mark.clause("IRL-6.12")
def test_a_policy_file_is_reloaded_and_the_last_good_one_kept(tmp_path, caplog):
    """A changed file counts at once; a broken one is shouted about and changes nothing."""
    file = tmp_path / "policy.toml"
    rule = '[[rules]]\nid = "POL-101"\nslug = "staging-writes"\noutcome = "GATE"\nsays = "staging write"\n'
    when = 'when = { all = [{ field = "means", is = "write" }, { field = "environment", is = "staging" }] }\n'
    file.write_text('extends = "default"\nname = "own"\n')
    declared = record(type="write")
    before = avow.evaluate(declared, policy=file)
    assert before.outcome is avow.Outcome.LOG_ALLOW
    file.write_text('extends = "default"\nname = "own"\n' + rule + when)
    after = avow.evaluate(declared, policy=file)
    assert after.outcome is avow.Outcome.GATE
    assert after.decided_by.id == "POL-101"
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
            entry.family, (401, 403, 404, 405, 409, 410, 412, 429)
        )
    fault = FaultError(incident="inc_1")
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
