"""The join of findings and the relief by permits: laws over any findings."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import avow
from avow.core import permit as permits
from avow.core.finding import Finding, Source
from avow.core.permit import Pattern, Permit, key, relieve
from avow.core.resource import read
from avow.core.verdict import NOTHING_CHECKED, rule
from avow.core.words import Environment, Means, Outcome
from tests.records import record

FINDINGS = st.builds(
    Finding,
    st.sampled_from(["POL-001", "POL-002", "POL-003"]),
    st.just("slug"),
    st.sampled_from(Source),
    st.sampled_from(Outcome),
    st.sampled_from(["because", "therefore"]),
    step=st.booleans(),
    effect=st.integers(0, 2),
)
MANY = st.lists(FINDINGS, max_size=8)


def simple(floor, *, step=False):
    return Finding(f"POL-{int(floor)}00", "x", Source.RULE, floor, "x", step=step)


@pytest.mark.clause("IRL-2.09", "IRL-3.05")
def test_the_finite_lattice_exhaustively():
    """Over every set of up to three findings, the outcome is the strictest floor, plus one step."""
    kinds = [simple(floor, step=step) for floor in Outcome for step in (False, True)]
    for size in (1, 2, 3):
        for chosen in itertools.product(kinds, repeat=size):
            strictest = max(finding.floor for finding in chosen)
            stepped = any(finding.step for finding in chosen)
            expected = min(3, strictest + 1) if stepped else strictest
            assert rule(chosen).outcome == expected


def test_nothing_checked_denies():
    """No finding at all is a denial that says so."""
    assert rule([]).outcome is Outcome.DENY
    assert rule([]).decided_by is NOTHING_CHECKED


@given(MANY, FINDINGS)
def test_one_more_finding_never_softens(findings, another):
    """Adding a finding to some others leaves the outcome as strict or makes it stricter."""
    if findings:
        assert rule([*findings, another]).outcome >= rule(findings).outcome


@given(MANY, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(findings, random):
    """A shuffled and doubled list comes to the same ruling, down to who decided."""
    shuffled = findings * 2
    random.shuffle(shuffled)
    assert rule(shuffled) == rule(findings)


@given(MANY)
def test_who_decided_can_be_shown(findings):
    """The one who decided is among the findings and accounts for the outcome."""
    ruling = rule(findings)
    assert ruling.decided_by in ruling.findings
    if ruling.stepped:
        assert ruling.decided_by.step
    else:
        assert ruling.decided_by.floor is ruling.outcome


GATED = record(type="write", target_environment="production")
DENIED = record(type="delete", target_environment="production", reversible=False)
STEPPED = record(type="write", source_environment="local")


def permit_for(verdict, **changed):
    made = {
        "id": "permit-1",
        "covers": verdict.digest,
        "shown": frozenset(key(finding) for finding in verdict.findings),
        "uses_left": 1,
        "expires_ms": 1000,
        "hazard_max": 4,
    }
    return Permit(**{**made, **changed})


def test_a_permit_that_covers_everything_relieves_a_gate():
    """A gate whose findings were all shown becomes LOG_ALLOW, naming the permit."""
    for declared in (GATED, STEPPED):
        verdict = avow.evaluate(declared)
        assert verdict.outcome is Outcome.GATE
        relief = relieve(verdict, [permit_for(verdict)], now_ms=999)
        assert relief.verdict.outcome is Outcome.LOG_ALLOW
        assert relief.permit is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"covers": "0" * 64},
        {"shown": frozenset()},
        {"uses_left": 0},
        {"expires_ms": 999},
        {"hazard_max": 1},
        {"covers": Pattern("other", Means.WRITE, read("table:orders"), Environment.PRODUCTION)},
        {"covers": Pattern("agent-1", Means.READ, read("table:orders"), Environment.PRODUCTION)},
        {"covers": Pattern("agent-1", Means.WRITE, read("table:other"), Environment.PRODUCTION)},
        {"covers": Pattern("agent-1", Means.WRITE, read("table:orders"), Environment.STAGING)},
    ],
)
def test_a_permit_that_falls_short_relieves_nothing(changed):
    """Another digest, findings not shown, no uses, expiry, hazard or pattern: still a gate."""
    verdict = avow.evaluate(GATED)
    relief = relieve(verdict, [permit_for(verdict, **changed)], now_ms=999)
    assert relief.verdict is verdict
    assert relief.permit is None


def test_each_finding_that_demands_a_human_must_have_been_shown():
    """Leaving out any one of them makes the permit worthless; leaving out others does not."""
    for declared in (GATED, STEPPED, record(type="write", data_loss_risk="partial")):
        verdict = avow.evaluate(declared)
        every = frozenset(key(finding) for finding in verdict.findings)
        for finding in verdict.findings:
            short = permit_for(verdict, shown=every - {key(finding)})
            relieved = relieve(verdict, [short], now_ms=0).permit is not None
            assert relieved is not finding.demands_human


def test_a_pattern_covers_what_lies_below_it():
    """A standing approval for a folder covers what lies in it, for that agent and place."""
    verdict = avow.evaluate({**GATED, "agent": {"id": "agent-1", "trust_level": "low"}})
    pattern = Pattern("agent-1", Means.WRITE, read("table:"), Environment.PRODUCTION)
    assert relieve(verdict, [permit_for(verdict, covers=pattern)], now_ms=0).permit is not None


@pytest.mark.clause("IRL-3.04")
def test_no_permit_touches_a_denial():
    """A permit that fits a denied record in every respect changes nothing."""
    verdict = avow.evaluate(DENIED)
    assert verdict.outcome is Outcome.DENY
    assert relieve(verdict, [permit_for(verdict)], now_ms=0).verdict.outcome is Outcome.DENY


@given(
    st.sampled_from([GATED, DENIED, STEPPED, record()]),
    st.lists(
        st.builds(
            dict,
            uses_left=st.integers(-1, 2),
            expires_ms=st.integers(0, 10),
            hazard_max=st.integers(0, 4),
            id=st.sampled_from(["a", "b", "c"]),
        ),
        max_size=3,
        unique_by=lambda change: change["id"],
    ),
    st.integers(0, 10),
)
def test_relief_only_ever_turns_gate_into_log_allow(declared, changes, now_ms):
    """Whatever the permits, the outcome is unchanged, or was GATE and is LOG_ALLOW."""
    verdict = avow.evaluate(declared)
    granted = [permit_for(verdict, **change) for change in changes]
    relief = relieve(verdict, granted, now_ms=now_ms)
    if relief.permit is None:
        assert relief.verdict is verdict
    else:
        assert verdict.outcome is Outcome.GATE
        assert relief.verdict.outcome is Outcome.LOG_ALLOW
        assert relief.permit.uses_left > 0
    assert relief == relieve(verdict, reversed(granted), now_ms=now_ms)


def test_keys_tell_how_much_was_demanded():
    """The same rule with another floor, or with a step, has another key."""
    names = {key(simple(floor, step=step)) for floor in Outcome for step in (False, True)}
    assert len(names) == 8
    assert permits.key(simple(Outcome.GATE)) == "rule:POL-200:GATE"
