"""Judging as a whole: total, deterministic, and closed when something fails."""

import dataclasses
import itertools
import subprocess
import sys

import pytest

import avow
from avow.channels import render as cards
from avow.core import assess as assessing
from avow.core import conclusion, intent, opinion
from avow.core.finding import Finding, Source
from avow.core.situation import Situation
from avow.core.words import DataLoss, Environment, Inspection, Means, Outcome, Truth
from avow.dialects.irl import lower, render
from tests.records import lattice, record

FLOORS = {
    "read": ("ALLOW", "ALLOW", "LOG_ALLOW"),
    "delete": ("GATE", "GATE", "GATE"),
}


def sealed(**fields):
    return intent.seal(lower.read(record(**fields)), source_digest="")


@pytest.mark.clause("IRL-3.05")
def test_no_record_gets_less_than_the_matrix(default):
    """Over all 6,912 combinations the outcome is at least each floor and the band's own."""
    places = ("local", "staging", "production")
    for fields in lattice():
        verdict = avow.evaluate(record(**fields), trust="high")
        floors = FLOORS.get(fields["type"], ("LOG_ALLOW", "LOG_ALLOW", "GATE"))
        floor = Outcome[floors[places.index(fields["target_environment"])]]
        if fields["data_loss_risk"] != "none":
            floor = max(floor, Outcome.GATE)
        assert verdict.outcome >= floor
        assert verdict.outcome >= default.bands.band(verdict.level).outcome


@pytest.mark.clause("IRL-5.01")
def test_the_counts_of_the_printed_code():
    """Under irl-0.1 the 6,912 combinations give the published counts."""
    counted = dict.fromkeys(Outcome, 0)
    for fields in lattice():
        counted[avow.evaluate(record(**fields), policy="irl-0.1").outcome] += 1
    assert [counted[outcome] for outcome in Outcome] == [372, 1056, 1818, 3666]


def test_the_counts_with_total_data_loss_scored(tmp_path):
    """With 25 points for total data loss the counts are those of the published source."""
    softer = tmp_path / "source.toml"
    softer.write_text(
        'extends = "irl-0.1"\nname = "source"\nallow_relaxing = true\n[points]\ntotal_data_loss = 25\n'
    )
    counted = dict.fromkeys(Outcome, 0)
    for fields in lattice():
        counted[avow.evaluate(record(**fields), policy=softer).outcome] += 1
    assert [counted[outcome] for outcome in Outcome] == [260, 816, 1564, 4272]


@pytest.mark.parametrize(
    "error", [ValueError, KeyError, RecursionError, MemoryError, AssertionError]
)
def test_an_assessor_that_fails_denies(default, error):
    """Whatever an assessor raises becomes a DENY that names the assessor and not the message."""

    def failing(_matter):
        raise error("secret text of a record")

    verdict = assessing.assess(sealed(), Situation(policy=default), assessors=(failing,))
    assert verdict.outcome is Outcome.DENY
    assert "failing" in verdict.decided_by.says
    assert not any("secret" in finding.says for finding in verdict.findings)


def test_an_assessor_that_fails_half_way_denies(default):
    """Findings yielded before the failure do not hide it."""

    def failing(_matter):
        yield Finding("X-001", "fine", Source.EXTENSION, Outcome.ALLOW, "fine")
        raise ValueError

    verdict = assessing.assess(sealed(), Situation(policy=default), assessors=(failing,))
    assert verdict.outcome is Outcome.DENY


@pytest.mark.parametrize("junk", [[None], ["ALLOW"], 3, None])
def test_an_assessor_that_returns_junk_denies(default, junk):
    """What is not a list of findings counts as a failed check."""
    verdict = assessing.assess(sealed(), Situation(policy=default), assessors=(lambda _: junk,))
    assert verdict.outcome is Outcome.DENY
    assert verdict.decided_by.id == "POL-901"


def test_a_policy_that_fails_denies(default, monkeypatch):
    """An error inside the policy's own checks denies with the highest score."""

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(opinion, "of", broken)
    verdict = assessing.assess(sealed(), Situation(policy=default))
    assert (verdict.outcome, verdict.score) == (Outcome.DENY, 100)
    assert verdict.decided_by.id == "POL-901"


def test_an_intent_that_cannot_be_settled_is_denied(default, monkeypatch):
    """An error while claims and observations are brought together denies, and can be shown."""

    def broken(*_args, **_kwargs):
        raise KeyError("secret")

    monkeypatch.setattr(assessing, "cases", broken)
    verdict = assessing.assess(sealed(), Situation(policy=default))
    assert (verdict.outcome, verdict.score, verdict.cases) == (Outcome.DENY, 100, ())
    assert verdict.decided_by.says == "`settling` failed with KeyError"
    answer = render.answer(
        conclusion.plain(verdict), verdict_id="ver_1", timestamp="now", digest=verdict.digest
    )
    assert answer["decision"] == "DENY"
    assert cards.card(sealed(), verdict).outcome is Outcome.DENY


def test_an_assessor_can_only_harden(default):
    """An assessor that says ALLOW changes nothing, one that says DENY denies."""

    def saying(outcome):
        return lambda _: [Finding("X-001", "said", Source.EXTENSION, outcome, "said")]

    for fields in ({}, {"type": "write"}, {"type": "write", "target_environment": "production"}):
        alone = assessing.assess(sealed(**fields), Situation(policy=default)).outcome
        for outcome in Outcome:
            with_one = assessing.assess(
                sealed(**fields), Situation(policy=default), assessors=(saying(outcome),)
            )
            assert with_one.outcome is max(alone, outcome)


def test_no_effects_means_denied(default):
    """An intent without effects is judged by nobody, and so denied."""
    declared = dataclasses.replace(lower.read(record()), effects=())
    empty = intent.seal(declared, source_digest="")
    verdict = assessing.assess(empty, Situation(policy=default))
    assert verdict.outcome is Outcome.DENY
    assert verdict.decided_by.id == "POL-900"


def test_the_worst_effect_decides(default):
    """Two effects are never judged milder than either of them, and findings say which."""
    for one, other in itertools.product(({}, {"type": "write"}, {"type": "delete"}), repeat=2):
        effects = [lower.read(record(**fields)).effects[0] for fields in (one, other)]
        declared = dataclasses.replace(lower.read(record()), effects=tuple(effects))
        both = assessing.assess(intent.seal(declared, source_digest=""), Situation(policy=default))
        single = [
            assessing.assess(sealed(**fields), Situation(policy=default)) for fields in (one, other)
        ]
        assert both.outcome is max(verdict.outcome for verdict in single)
        assert both.score == max(verdict.score for verdict in single)
        assert {finding.effect for finding in both.findings} == {0, 1}


def test_an_effect_nobody_placed_counts_as_production(default):
    """Without a claim and without an inventory, the environment is production and says so."""
    declared = lower.read(record(type="write"))
    unplaced = dataclasses.replace(declared.effects[0], environment=None)
    verdict = assessing.assess(
        intent.seal(dataclasses.replace(declared, effects=(unplaced,)), source_digest=""),
        Situation(policy=default),
    )
    assert verdict.cases[0].environment is Environment.PRODUCTION
    assert "operation.target_environment" in {a.path for a in verdict.assumptions}


def test_unknown_reversibility_gates_and_does_not_deny(default):
    """In production an unknown way back asks a human where a known lack of one denies."""
    declared = lower.read(record(type="write", target_environment="production"))
    outcomes = {}
    for truth in Truth:
        effect = dataclasses.replace(declared.effects[0], reversible=truth)
        changed = dataclasses.replace(
            declared, effects=(effect,), claims=declared.claims, keeps_diligence=False
        )
        verdict = assessing.assess(
            intent.seal(changed, source_digest=""), Situation(policy=default)
        )
        outcomes[truth] = {f.id: f.floor for f in verdict.findings}
    assert outcomes[Truth.NO]["POL-012"] is Outcome.DENY
    assert "POL-012" not in outcomes[Truth.UNKNOWN]
    assert outcomes[Truth.UNKNOWN]["POL-013"] is Outcome.GATE
    assert "POL-013" not in outcomes[Truth.YES]


def test_without_diligence_there_are_no_diligence_points(default):
    """A dialect that does not ask for diligence gives no points for its absence."""
    declared = dataclasses.replace(
        lower.read(record(type="delete", verified=False, alternatives_considered=[])),
        keeps_diligence=False,
    )
    verdict = assessing.assess(intent.seal(declared, source_digest=""), Situation(policy=default))
    assert verdict.reasons == ()


def test_an_observed_effect_has_no_diligence_points(default):
    """Where an observer saw what would run, the agent's diligence is not scored."""
    careless = lower.read(record(type="write", verified=False, alternatives_considered=[]))
    seen = intent.seal(careless, source_digest="", inspection=Inspection.OBSERVED)
    verdict = assessing.assess(seen, Situation(policy=default))
    assert (verdict.score, verdict.reasons) == (20, ())


def test_every_word_has_its_place_in_the_tables(default):
    """Each means, environment and kind of loss is known to weights, matrix and hazard."""
    for means, place, loss in itertools.product(Means, Environment, DataLoss):
        declared = lower.read(record())
        effect = dataclasses.replace(declared.effects[0], means=means, environment=place)
        claims = dataclasses.replace(declared.claims, data_loss=loss)
        changed = dataclasses.replace(declared, effects=(effect,), claims=claims)
        verdict = assessing.assess(
            intent.seal(changed, source_digest=""), Situation(policy=default)
        )
        assert "POL-901" not in {finding.id for finding in verdict.findings}


def test_a_verdict_has_no_truth_value():
    """`if verdict:` is refused, because it would let a denial through."""
    with pytest.raises(TypeError, match=r"ask `verdict\.allowed`"):
        bool(avow.evaluate(record()))
    assert avow.evaluate(record()).allowed
    assert not avow.evaluate(record(type="write", target_environment="production")).allowed


def test_remembering_an_opinion_changes_nothing(default):
    """A remembered opinion is found again and equals one formed anew."""
    opinion.forget()
    for fields in itertools.islice(lattice(), 0, None, 37):
        declared = intent.seal(lower.read(record(**fields)), source_digest="")
        case = assessing.cases(declared, Situation(policy=default))[0][0]
        remembered = opinion.of(case, default)
        assert opinion.of(case, default) is remembered
        assert remembered == opinion._formed(case, default)


PROGRAM = """
import json, sys
sys.path.insert(0, {root!r})
import socket
def refuse(*args, **kwargs):
    raise AssertionError("the judge opened a socket")
socket.socket.connect = refuse
import avow, itertools
from tests.records import lattice, record
from pathlib import Path
def told(record, policy):
    v = avow.evaluate(record, policy=policy)
    return v.outcome.name, v.score, v.digest, [f.name + f.says for f in v.findings]
for file in sorted(Path({root!r}, "tests", "vectors").glob("*.json")):
    for case in json.loads(file.read_text())["cases"]:
        if "malformed" not in case["expect"]:
            found = {{str(told(case["record"], case["policy"])) for _ in range(100)}}
            assert len(found) == 1
            print(found.pop())
for fields in itertools.islice(lattice(), 0, None, 101):
    print(told(record(**fields), "default"))
"""


@pytest.mark.clause("IRL-5.01")
def test_two_processes_agree_to_the_byte(request):
    """A hundred times each, in three processes without network, every vector gets one verdict."""
    program = PROGRAM.format(root=str(request.config.rootpath))
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) > 100
