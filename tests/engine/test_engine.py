"""What the doors work with: trials, the drill, the register, the doctor, the desk."""

import pytest

from avow import wiring
from avow.adapters import register_files
from avow.core.errors import MalformedError
from avow.core.words import Outcome
from avow.engine import conformance, doctor, drill, trials
from avow.engine.desk import utc
from avow.engine.doctor import Installation, State
from tests.records import body, record


@pytest.mark.clause("IRL-1.04")
def test_the_published_incident_is_denied_in_the_drill():
    """The first incident of the drill is the published one; it ends in DENY by POL-003."""
    desk = wiring.desk()
    policy = desk.policies("default")
    replays = drill.replay(desk.incidents(), lambda one: desk.judge.judge(one, policy=policy))
    first = replays[0]
    assert first.incident.id == "pocketos-2026"
    assert first.verdict.outcome is Outcome.DENY
    assert first.verdict.decided_by.id == "POL-003"
    assert len(replays) >= 11
    assert [one.incident.id for one in replays if not one.held] == []


def test_incidents_are_complete_and_distinct():
    """Every incident has a source, a date and an id of its own."""
    incidents = wiring.desk().incidents()
    assert len({incident.id for incident in incidents}) == len(incidents)
    for incident in incidents:
        assert len(incident.title) <= 60
        assert len(incident.what) <= 160
        assert len(incident.source) > 10
        assert incident.when[:4].isdigit()
        assert incident.at_least >= Outcome.GATE


def test_a_replay_that_falls_short_says_so(irl):
    """An incident that got less than would have helped is not held."""
    incident = drill.Incident(
        id="x", title="x", when="2026", what="x", source="x", at_least=Outcome.DENY,
        record=body(record()),
    )  # fmt: skip
    judge = wiring.desk().judge
    assert not drill.replay([incident], lambda one: judge.judge(one, policy=irl))[0].held


@pytest.mark.parametrize(
    ("parsed", "where"),
    [
        (None, "cases.json"),
        ({"cases": []}, "cases.json"),
        ({"cases": [3]}, "cases[0]"),
        ({"cases": [{}]}, "cases[0].name"),
        ({"cases": [{"name": "n", "expect": {"score": 1}}]}, "cases[0].record"),
        ({"cases": [{"name": "n", "record": {}, "expect": {}}]}, "cases[0].expect"),
        ({"cases": [{"name": "n", "record": {}, "expect": {"mood": 1}}]}, "cases[0].expect.mood"),
        ({"cases": [{"name": "n", "record": {}, "expect": {"score": 1}, "x": 1}]}, "cases[0].x"),
        (
            {"cases": [{"name": "n", "record": {}, "expect": {"score": 1}, "trust": "root"}]},
            "cases[0].trust",
        ),
        (
            {"cases": [{"name": "n", "record": {}, "expect": {"score": 1}, "trust": []}]},
            "cases[0].trust",
        ),
        (
            {"cases": [{"name": "n", "record": {}, "expect": {"score": 1}, "policy": 3}]},
            "cases[0].policy",
        ),
        ({"cases": [{"name": "n", "record": "\ud800", "expect": {"score": 1}}]}, "cases[0].record"),
        ({"cases": [{"name": "n", "record": {1, 2}, "expect": {"score": 1}}]}, "cases[0].record"),
    ],
)
def test_a_file_of_cases_is_read_strictly(parsed, where):
    """A defect in a file of cases is found at its place."""
    with pytest.raises(MalformedError) as caught:
        trials.read(parsed, "cases.json")
    assert where in {problem.path for problem in caught.value.problems}


def test_the_register_joins_and_counts():
    """478 clauses of five specifications; what the status does not name is open."""
    register = register_files.load()
    assert len(register.clauses) == 478
    counted = register.counted()
    assert sum(counter.total() for counter in counted.values()) == 478
    assert len(counted) == 5
    assert register.open_musts == sum(clause.is_open_must for clause in register.clauses)


def test_a_status_for_a_clause_that_does_not_exist_is_our_own_bug():
    """A misspelt id in the status file stops everything."""
    status = {"ratchet": {"open_musts": 0}, "clauses": {"IRL-9.99": {"status": "met"}}}
    with pytest.raises(AssertionError, match=r"IRL-9\.99"):
        conformance.join([], status)


def test_the_doctor_finds_what_is_wrong(irl):
    """An old interpreter, missing and other packages, soft and broken policies are told apart."""
    old = Installation(python=(3, 10, 1), found={"a": None, "b": "2"}, tested={"a": "1", "b": "1"})
    assert doctor.check_python(old).state is State.BAD
    assert [check.state for check in doctor.check_packages(old)] == [State.BAD, State.WARNING]
    assert doctor.check_policy("irl-0.1", lambda _: irl).state is State.WARNING
    load = wiring.desk().policies
    broken = doctor.check_policy("missing.toml", load)
    assert broken.state is State.BAD
    assert broken.hint
    mild = wiring.desk().judge.judge(body(record()), policy=irl)
    assert doctor.check_judgement(lambda: mild).state is State.BAD
    assert all(check.state is State.GOOD for check in wiring.desk().doctor())


def test_times_are_written_in_utc():
    """A moment ends in Z and keeps its milliseconds."""
    assert utc(1_777_043_001_000) == "2026-04-24T15:03:21.000Z"
    assert utc(5) == "1970-01-01T00:00:00.005Z"
