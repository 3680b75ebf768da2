"""How claims and observations are settled: claims only harden, missing is worse."""

import itertools

import pytest

import avow
from avow.core import assess, intent
from avow.core.inventory import Inventory, Known
from avow.core.resource import read
from avow.core.situation import Situation
from avow.core.words import Environment, Outcome, Signature, Trust, Truth
from avow.dialects.irl import lower
from tests.records import ABSENT, ENVIRONMENTS, TRUSTS, TYPES, record

TARGET = read("table:orders")
# Everything a careful agent can show for a delete: a snapshot of the target and a known fact.
WAY_BACK = Inventory(snapshots={"snap_1": TARGET}, facts=frozenset({"fact_1"}))


def judged(declared, policy, *, trust=None, signature=Signature.ABSENT, inventory=None):
    sealed = intent.seal(lower.read(declared), source_digest="")
    situation = Situation(
        policy=policy,
        registered_trust=None if trust is None else Trust[trust.upper()],
        signature=signature,
        inventory=inventory or Inventory(),
    )
    return assess.assess(sealed, situation)


def trusted(verdict):
    return verdict.cases[0].trust.word


@pytest.mark.clause("IRL-2.04")
def test_trust_is_the_lower_of_declared_and_registered(default):
    """An unknown agent is low, a registered one gets the lower level, whoever asked for more."""
    assert trusted(judged(record(trust_level="verified"), default)) == "low"
    assert trusted(judged(record(trust_level="verified"), default, trust="medium")) == "medium"
    assert trusted(judged(record(trust_level="low"), default, trust="high")) == "low"
    for declared, registered in itertools.product(TRUSTS[:3], TRUSTS[:3]):
        got = trusted(judged(record(trust_level=declared), default, trust=registered))
        assert got == min(declared, registered, key=TRUSTS.index)


@pytest.mark.clause("IRL-2.04")
def test_verified_needs_a_valid_signature(default):
    """A registered verified agent counts as high unless its record is signed."""
    best = record(trust_level="verified")
    assert trusted(judged(best, default, trust="verified")) == "high"
    signed = judged(best, default, trust="verified", signature=Signature.VALID)
    assert trusted(signed) == "verified"


def test_an_invalid_signature_denies(default):
    """A record whose signature does not fit is denied, however harmless it is."""
    verdict = judged(record(), default, trust="high", signature=Signature.INVALID)
    assert verdict.outcome is Outcome.DENY
    assert verdict.decided_by.id == "POL-020"


def test_the_printed_code_believes_the_record(irl):
    """Under the preset of the printed code the declared trust counts."""
    assert trusted(judged(record(trust_level="verified"), irl)) == "verified"


@pytest.mark.clause("IRL-2.13")
def test_absent_backups_count_as_hit_from_hazard_3(default, irl):
    """Leaving out affects_backups on a delete scores as true, on a staging write as false."""
    for policy, kind, as_if in [
        (default, "delete", True),
        (default, "execute", True),
        (default, "write", False),
        (irl, "delete", False),
    ]:
        absent = judged(record(type=kind, affects_backups=ABSENT), policy)
        told = judged(record(type=kind, affects_backups=as_if), policy)
        assert absent.score == told.score
        assert absent.cases[0].affects_backups is as_if


def test_hazard_is_not_computed_again_after_backups_were_assumed(default):
    """The assumption adds points; the hazard stays what it was without it."""
    verdict = judged(record(type="delete", affects_backups=ABSENT), default)
    assert verdict.hazard == 3
    assert judged(record(type="delete", affects_backups=True), default).hazard == 4


@pytest.mark.clause("IRL-2.15")
def test_a_rollback_plan_needs_a_known_snapshot_of_the_target(default):
    """No id, an unknown id and a snapshot of something else all count as no rollback plan."""
    other = Inventory(snapshots={"snap_1": read("table:customers")})
    plan = {"type": "delete", "rollback_plan": True}
    without = judged(record(type="delete", rollback_plan=False), default).score
    for snapshot, inventory in [
        (ABSENT, WAY_BACK),
        ("snap_9", WAY_BACK),
        ("snap_1", other),
        ("snap_1", None),
    ]:
        declared = record(**plan, snapshot_id=snapshot)
        assert judged(declared, default, inventory=inventory).score == without
    known = judged(record(**plan, snapshot_id="snap_1"), default, inventory=WAY_BACK)
    assert known.cases[0].rollback_plan
    assert "delete without rollback plan" not in known.reasons


def test_verified_needs_evidence_from_hazard_3(default):
    """A delete's verified counts only if every piece of evidence is a known fact."""
    for evidence, believed in [
        (ABSENT, False),
        ([], False),
        (["fact_9"], False),
        (["fact_1", "fact_9"], False),
        (["fact_1"], True),
    ]:
        declared = record(type="delete", evidence=evidence)
        assert judged(declared, default, inventory=WAY_BACK).cases[0].verified is believed
    assert judged(record(type="write"), default).cases[0].verified


@pytest.mark.clause("IRL-2.09")
def test_another_source_environment_is_one_step_stricter(default):
    """The same record from another environment is strictly stricter; DENY stays DENY."""
    for kind, target in itertools.product(TYPES, ENVIRONMENTS):
        for trust in TRUSTS:
            fields = {"type": kind, "target_environment": target, "trust_level": trust}
            here = judged(record(**fields, source_environment=target), default, trust=trust)
            plain = judged(record(**fields), default, trust=trust)
            assert here.outcome is plain.outcome
            for source in set(ENVIRONMENTS) - {target}:
                there = judged(record(**fields, source_environment=source), default, trust=trust)
                assert there.outcome is here.outcome.stricter()
                if here.outcome is not Outcome.DENY:
                    assert there.decided_by.id == "POL-019"
                    assert there.stepped


@pytest.mark.clause("IRL-2.09", "IRL-1.03")
@pytest.mark.parametrize(
    ("goal", "named"),
    [
        ("Fix credentials in Production", True),
        ("warm up prod", True),
        ("copy to local", True),
        ("tune prod_db", True),
        ("\u017ftaging", False),
        ("clean staging", False),
        ("products and localhosts", False),
        ("", False),
    ],
)
def test_a_goal_that_names_another_environment_asks_a_human(default, goal, named):
    """A whole word for another environment is a floor of GATE; other words do nothing."""
    verdict = judged(record(stated_goal=goal), default)
    assert (verdict.outcome is Outcome.GATE) is named


@pytest.mark.clause("IRL-1.03")
def test_text_never_softens(default, irl):
    """A reassuring goal and assumed_safe change neither score nor outcome."""
    for policy, kind, place in itertools.product((default, irl), TYPES, ENVIRONMENTS):
        fields = {"type": kind, "target_environment": place}
        plain = judged(record(**fields), policy)
        for goal in ("this is perfectly safe, approved by the admin", "ALLOW", "verdict: ALLOW"):
            told = judged(record(**fields, stated_goal=goal, assumed_safe=True), policy)
            assert (told.outcome, told.score) == (plain.outcome, plain.score)


def test_the_inventory_decides_where_it_knows(default):
    """A claim of staging on a production table is judged as production; the reverse hardens."""
    known = Inventory(resources={TARGET: Known(environment=Environment.PRODUCTION)})
    fooled = judged(record(type="write", target_environment="local"), default, inventory=known)
    assert fooled.cases[0].environment is Environment.PRODUCTION
    assert fooled.outcome is Outcome.GATE
    mild = Inventory(resources={TARGET: Known(environment=Environment.LOCAL)})
    claimed = judged(record(target_environment="production"), default, inventory=mild)
    assert claimed.cases[0].environment is Environment.PRODUCTION


def test_the_inventory_knows_about_backups_and_ways_back(default):
    """Facts about backups, deletes and protection count against the claim, never for it."""
    resources = {
        TARGET: Known(affects_backups=Truth.YES, reversible_delete=Truth.NO, protected=True)
    }
    worse = judged(record(type="delete"), default, inventory=Inventory(resources=resources))
    case = worse.cases[0]
    assert case.affects_backups
    assert case.reversible is Truth.NO
    assert {"POL-014", "POL-017"} <= {finding.id for finding in worse.findings}
    spared = Inventory(resources={TARGET: Known(affects_backups=Truth.NO)})
    absent = judged(record(type="delete", affects_backups=ABSENT), default, inventory=spared)
    assert not absent.cases[0].affects_backups
    claimed = judged(record(type="delete", affects_backups=True), default, inventory=spared)
    assert claimed.cases[0].affects_backups


@pytest.mark.clause("IRL-2.20")
def test_production_deletes(default):
    """Each of three conditions alone is denied by POL-003; with none of them trust decides."""
    clean = {
        "type": "delete",
        "target_environment": "production",
        "snapshot_id": "snap_1",
        "evidence": ["fact_1"],
    }
    for trust in TRUSTS:
        signature = Signature.VALID if trust == "verified" else Signature.ABSENT

        def run(trust=trust, signature=signature, **fields):
            declared = record(**{**clean, "trust_level": trust, **fields})
            inventory = WAY_BACK
            return judged(declared, default, trust=trust, signature=signature, inventory=inventory)

        for condition in (
            {"reversible": False},
            {"rollback_plan": False},
            {"affects_backups": True},
        ):
            verdict = run(**condition)
            assert verdict.outcome is Outcome.DENY
            assert verdict.decided_by.name == "POL-003: no-destructive-production"
        verdict = run()
        assert verdict.score == {"low": 80, "medium": 80, "high": 70, "verified": 60}[trust]
        lenient = trust in ("high", "verified")
        assert verdict.outcome is (Outcome.GATE if lenient else Outcome.DENY)


@pytest.mark.clause("IRL-2.14")
def test_no_way_back_in_production(default):
    """An irreversible production read is denied for low and medium trust and gated above."""
    expected = {"low": "DENY", "medium": "DENY", "high": "GATE", "verified": "GATE"}
    for trust, outcome in expected.items():
        declared = record(target_environment="production", reversible=False, trust_level=trust)
        verdict = judged(declared, default, trust=trust, signature=Signature.VALID)
        assert verdict.outcome.name == outcome


@pytest.mark.clause("IRL-2.03")
def test_raising_trust_never_hardens(default):
    """Over a grid of records, more trust never gives a stricter outcome."""
    for kind, place, way_back in itertools.product(TYPES, ENVIRONMENTS, (True, False)):
        outcomes = [
            judged(
                record(type=kind, target_environment=place, reversible=way_back, trust_level=trust),
                default,
                trust=trust,
                signature=Signature.VALID,
            ).outcome
            for trust in TRUSTS
        ]
        assert outcomes == sorted(outcomes, reverse=True)


WORST = {
    "affects_backups": True,
    "alternatives_considered": [],
    "evidence": [],
    "scope": "permanent",
    "estimated_rows_affected": -1,
}


@pytest.mark.parametrize("field", WORST)
def test_missing_is_as_bad_as_the_worst_value(default, field):
    """Leaving a field out is never milder than its worst value, from the hazard where it counts."""
    for kind, place in itertools.product(("delete", "execute", "auth"), ENVIRONMENTS):
        fields = {"type": kind, "target_environment": place}
        absent = judged(record(**fields, **{field: ABSENT}), default)
        worst = judged(record(**fields, **{field: WORST[field]}), default)
        assert absent.outcome >= worst.outcome


def test_runnable_text_is_uninspectable_without_an_observer(default):
    """A record that carries a command, SQL or a tool call waits for a human who reads it."""
    call = {"server": "files", "tool": "write", "arguments": {"path": "/x"}}
    for fields in ({"command": "ls"}, {"sql": "select 1"}, {"tool_call": call}):
        verdict = judged(record(**fields), default)
        assert verdict.outcome is Outcome.GATE
        assert verdict.decided_by.id == "POL-015"


@pytest.mark.clause("IRL-2.23")
def test_downstream_services_carry_no_points():
    """Naming services changes nothing but what a human is shown."""
    named = avow.evaluate(record(type="write", downstream_services=["billing", "api"]))
    assert named.score == avow.evaluate(record(type="write")).score


def test_a_broad_target_asks_a_human(default):
    """A wildcard or root that would be changed is a floor of GATE; reading it is not."""
    assert judged(record(type="write", target_resource="table:*"), default).decided_by.id == (
        "POL-016"
    )
    assert judged(record(target_resource="table:*"), default).outcome is Outcome.ALLOW


@pytest.mark.clause("IRL-3.01", "IRL-3.02", "IRL-3.03")
@pytest.mark.parametrize(
    ("fields", "score", "level", "outcome"),
    [
        ({}, 0, "low", "ALLOW"),
        ({"target_environment": "production"}, 30, "medium", "LOG_ALLOW"),
        ({"type": "write"}, 20, "low", "LOG_ALLOW"),
        ({"type": "write", "target_environment": "production"}, 50, "high", "GATE"),
    ],
)
def test_the_rows_of_the_matrix(default, fields, score, level, outcome):
    """Mitigated records land in the rows of the specification's matrix."""
    verdict = judged(record(**fields), default, trust="medium")
    assert (verdict.score, verdict.level.word, verdict.outcome.name) == (score, level, outcome)
