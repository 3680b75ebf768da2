"""The score of an intent record, point by point, as the specification's code computes it."""

import pytest

import avow
from avow.core.policy import Bands
from avow.core.words import Level, Outcome
from tests.records import ABSENT, ENVIRONMENTS, TYPES, record

BASES = {"read": 0, "write": 20, "execute": 30, "delete": 50, "network": 25, "auth": 35}


def score(**fields):
    return avow.evaluate(record(**fields), policy="irl-0.1")


@pytest.mark.clause("IRL-5.02", "IRL-5.03")
@pytest.mark.parametrize(("kind", "base"), BASES.items())
def test_the_base_of_each_type(kind, base):
    """With everything else neutral, the score is the base of the type."""
    assert score(type=kind).score == base


@pytest.mark.clause("IRL-5.04", "IRL-5.05", "IRL-5.06", "IRL-5.07", "IRL-5.08", "IRL-2.11")
@pytest.mark.parametrize(
    ("field", "worse", "points", "reason"),
    [
        ("target_environment", "production", 30, "production environment"),
        ("reversible", False, 25, "irreversible operation"),
        ("verified", False, 20, "assumption not verified"),
        ("alternatives_considered", [], 15, "no alternatives considered"),
        ("affects_backups", True, 30, "affects backup systems"),
    ],
)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_each_aggravation_adds_its_points_and_its_reason(kind, field, worse, points, reason):
    """Toggling one field adds exactly its points and exactly its reason."""
    before, after = score(type=kind), score(type=kind, **{field: worse})
    assert after.score - before.score == points
    assert [r for r in after.reasons if r not in before.reasons] == [reason]


@pytest.mark.clause("IRL-5.09")
def test_a_missing_rollback_plan_counts_for_deletes_only():
    """A delete without a rollback plan gets 20 points, a write none."""
    lost = score(type="delete", rollback_plan=False)
    assert lost.score - score(type="delete").score == 20
    assert "delete without rollback plan" in lost.reasons
    assert score(type="write", rollback_plan=False).score == score(type="write").score


@pytest.mark.clause("IRL-2.12")
@pytest.mark.parametrize("given", [ABSENT, [], [""], ["  ", "\t"]])
def test_no_alternatives_in_any_spelling(given):
    """An absent list, an empty one and one of blanks all add 15."""
    listed = score(alternatives_considered=["a"]).score
    assert score(alternatives_considered=given).score - listed == 15


WORST = {
    "type": "delete",
    "target_environment": "production",
    "reversible": False,
    "verified": False,
    "alternatives_considered": [],
    "affects_backups": True,
    "rollback_plan": False,
}


@pytest.mark.clause("IRL-5.10", "IRL-5.11")
def test_the_discount_comes_before_the_cap():
    """A raw sum of 190 stays at 100 for a verified agent, and 15 becomes 0 and not -5."""
    assert score(**WORST, trust_level="verified").score == 100
    assert score(alternatives_considered=[], trust_level="verified").score == 0
    assert score(type="write", trust_level="high").score == 10
    assert score(type="write", trust_level="medium").score == 20
    assert score(type="write", trust_level="low").score == 20


@pytest.mark.clause("IRL-5.12")
@pytest.mark.parametrize(
    ("score", "level"),
    [
        (0, Level.LOW),
        (20, Level.LOW),
        (24, Level.LOW),
        (25, Level.MEDIUM),
        (45, Level.MEDIUM),
        (49, Level.MEDIUM),
        (50, Level.HIGH),
        (70, Level.HIGH),
        (74, Level.HIGH),
        (75, Level.CRITICAL),
        (100, Level.CRITICAL),
    ],
)
def test_the_bands(default, irl, score, level):
    """The bands start at 0, 25, 50 and 75, in both presets."""
    for policy in (default, irl):
        assert policy.bands.level(score) is level


@pytest.mark.clause("IRL-3.06")
def test_levels_lead_to_outcomes(default, irl):
    """Low allows, medium logs, high asks, critical denies; there is no fifth level."""
    expected = [Outcome.ALLOW, Outcome.LOG_ALLOW, Outcome.GATE, Outcome.DENY]
    for policy in (default, irl):
        assert [policy.bands.band(level).outcome for level in Level] == expected
    with pytest.raises(ValueError, match="4 is not a valid Level"):
        Level(4)
    assert len(Bands.__dataclass_fields__) == 1


@pytest.mark.clause("IRL-5.13", "IRL-5.14")
def test_reasons_stand_in_rule_order():
    """The worst record lists exactly the six reasons of the code, in its order."""
    verdict = score(**WORST)
    assert verdict.reasons == (
        "production environment",
        "irreversible operation",
        "assumption not verified",
        "no alternatives considered",
        "affects backup systems",
        "delete without rollback plan",
    )
    assert isinstance(verdict.score, int)
    assert verdict.level is Level.CRITICAL


def test_points_add_up():
    """The points shown to a person sum to the score, before the cap."""
    for kind in TYPES:
        for place in ENVIRONMENTS:
            verdict = score(type=kind, target_environment=place, trust_level="verified")
            assert sum(point.points for point in verdict.risk.points) == verdict.score


def test_total_data_loss_scores_only_in_the_default_policy():
    """The default policy adds 25 for total loss, the preset of the printed code nothing."""
    lost = record(type="write", data_loss_risk="total")
    assert avow.evaluate(lost, policy="irl-0.1").score == 20
    assert avow.evaluate(lost).score == 45
    assert "total data loss risk" in avow.evaluate(lost).reasons
