"""The intent record: every clause on its shape, one defect at a time."""

import copy
import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import avow
from avow.core import conclusion
from avow.core.codes import CODES
from avow.core.errors import MalformedError
from avow.core.words import DataLoss, Scope
from avow.dialects.irl import document, lower, render
from avow.engine.judgement import Judge
from tests.records import ABSENT, ENVIRONMENTS, NEUTRAL, TRUSTS, TYPES, lattice, record

SIGNATURE = {
    "did": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    "id": "signed-1",
    "signed_ms": 1_794_000_000_000,
    "value": "A" * 86 + "==",
}


def problems(value):
    with pytest.raises(MalformedError) as caught:
        avow.evaluate(value)
    assert caught.value.status == 422
    return {problem.path: problem.code for problem in caught.value.problems}


def accepted(value):
    return avow.evaluate(value) is not None


@pytest.mark.clause("IRL-1.02")
@pytest.mark.parametrize("group", ["agent", "operation", "rationale", "consequences"])
def test_each_of_the_four_groups_is_required(group):
    """A record without one of its groups is refused, naming the group."""
    short = {key: value for key, value in NEUTRAL.items() if key != group}
    assert problems(short) == {group: "field.missing"}


@pytest.mark.clause("IRL-2.01")
@pytest.mark.parametrize("version", ["0.2", 0.1, "", None, "0.1 "])
def test_the_version_must_be_exactly_this_one(version):
    """Another version, a number or null is refused rather than guessed at."""
    assert problems({**NEUTRAL, "irl_version": version}) == {"irl_version": "field.unknown_value"}


@pytest.mark.clause("IRL-2.01")
def test_a_missing_version_is_refused():
    """A record that forgot its version is told so, together with its other problems."""
    short = {key: value for key, value in NEUTRAL.items() if key != "irl_version"}
    assert problems(short) == {"irl_version": "field.missing"}
    assert problems({**short, "x": 1}) == {"irl_version": "field.missing", "x": "field.unknown"}


@pytest.mark.clause("IRL-2.02", "IRL-2.06", "IRL-2.10", "IRL-2.13", "IRL-2.21")
@pytest.mark.parametrize(
    "path",
    [
        "agent.id",
        "agent.trust_level",
        "operation.type",
        "operation.target_resource",
        "operation.target_environment",
        "rationale.verified",
        "consequences.reversible",
        "consequences.rollback_plan",
    ],
)
def test_a_required_field_is_required(path):
    """Leaving out any required field is refused with its path; no default is scored."""
    assert problems(record(**{path.split(".")[1]: ABSENT})) == {path: "field.missing"}


@pytest.mark.clause("IRL-2.02", "IRL-2.10", "IRL-2.13")
@pytest.mark.parametrize(
    "field",
    [
        *("model", "session_id", "scope", "estimated_rows_affected", "source_environment"),
        *("command", "sql", "tool_call", "stated_goal", "assumed_safe"),
        *("alternatives_considered", "evidence", "data_loss_risk", "affects_backups"),
        *("downstream_services", "snapshot_id"),
    ],
)
def test_an_optional_field_is_optional(field):
    """Leaving out any other field is accepted."""
    assert accepted(record(**{field: ABSENT}))


@pytest.mark.clause("IRL-2.02", "IRL-2.06", "IRL-2.10", "IRL-2.13", "IRL-2.21")
@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("id", 1),
        ("id", None),
        ("model", 1),
        ("session_id", ["x"]),
        ("target_resource", 1),
        ("estimated_rows_affected", "1"),
        ("estimated_rows_affected", 1.5),
        ("estimated_rows_affected", True),
        ("command", 1),
        ("tool_call", "ls"),
        ("stated_goal", 1),
        ("assumed_safe", "true"),
        ("verified", "true"),
        ("verified", 1),
        ("verified", None),
        ("alternatives_considered", "none"),
        ("reversible", "false"),
        ("reversible", 0),
        ("rollback_plan", "snap_1"),
        ("affects_backups", "no"),
        ("downstream_services", {"a": 1}),
        ("snapshot_id", 3),
    ],
)
def test_a_wrong_type_is_refused(field, wrong):
    """A value of another JSON type is refused, however well it could be converted."""
    found = problems(record(**{field: wrong}))
    assert list(found.values()) == ["field.wrong_type"]
    assert next(iter(found)).split(".")[1] == field


@pytest.mark.clause("IRL-2.03", "IRL-2.07", "IRL-2.08")
@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("type", TYPES, ("update", "READ", "", "shell", "chain", "read ")),
        ("target_environment", ENVIRONMENTS, ("prod", "dev", "Production", "")),
        ("source_environment", ENVIRONMENTS, ("prod",)),
        ("trust_level", TRUSTS, ("root", "LOW", "")),
        ("data_loss_risk", ("none", "partial", "total"), ("some", "undeclared")),
        ("scope", ("temporary", "permanent", "unknown"), ("forever",)),
    ],
)
def test_closed_sets_are_closed(field, good, bad):
    """Exactly the listed values are accepted; near misses are refused."""
    for value in good:
        assert accepted(record(**{field: value}))
    for value in bad:
        assert list(problems(record(**{field: value})).values()) == ["field.unknown_value"]


@pytest.mark.clause("IRL-2.06")
def test_bounds():
    """-1 rows are unknown and accepted, -2 refused; blank names and long texts are refused."""
    assert accepted(record(estimated_rows_affected=-1))
    for field, value in [
        ("estimated_rows_affected", -2),
        ("target_resource", ""),
        ("target_resource", "  "),
        ("id", ""),
        ("id", "\t"),
        ("id", "x" * 513),
        ("stated_goal", "x" * 8193),
        ("alternatives_considered", ["a"] * 257),
    ]:
        assert list(problems(record(**{field: value})).values()) == ["field.out_of_range"]


@pytest.mark.clause("IRL-2.21")
def test_unknown_fields_are_refused_at_every_level():
    """A field nobody knows is refused with its path, unless it starts with x_."""
    for group in (None, "agent", "operation", "rationale", "consequences"):
        value = copy.deepcopy(NEUTRAL)
        home = value if group is None else value[group]
        home["surprise"] = 1
        path = "surprise" if group is None else f"{group}.surprise"
        assert problems(value) == {path: "field.unknown"}
        del home["surprise"]
        home["x_surprise"] = {"free": [1, 2.5]}
        assert accepted(value)


@pytest.mark.clause("IRL-2.21")
def test_all_problems_come_at_once():
    """A record with many defects is answered once, with all of them."""
    value = record(id="", trust_level="root", verified="yes", reversible=ABSENT)
    value["surprise"] = 1
    value["x_own"] = 1
    assert problems(value) == {
        "agent.id": "field.out_of_range",
        "agent.trust_level": "field.unknown_value",
        "rationale.verified": "field.wrong_type",
        "consequences.reversible": "field.missing",
        "surprise": "field.unknown",
    }


@pytest.mark.clause("IRL-2.16")
def test_what_the_agent_says_of_its_own_risk_is_discarded():
    """A denied delete stays denied whatever risk and verdict it brings, and this is reported."""
    plain = record(type="delete", target_environment="production", reversible=False)
    flattered = {**plain, "risk": {"level": "low", "score": 0}, "verdict": {"decision": "ALLOW"}}
    one, other = avow.evaluate(plain), avow.evaluate(flattered)
    assert (one.outcome, one.score, one.digest) == (other.outcome, other.score, other.digest)
    assert one.findings == other.findings
    assert other.ignored == ("risk", "verdict")
    assert {"risk", "verdict"} <= {entry.path for entry in other.assumptions}


def test_every_fill_in_is_an_assumption():
    """What was missing and filled in, or not believed, is told."""
    verdict = avow.evaluate(
        record(type="delete", data_loss_risk=ABSENT, affects_backups=ABSENT, scope="unknown")
    )
    assert {entry.path for entry in verdict.assumptions} == {
        "operation.scope",
        "consequences.data_loss_risk",
        "agent.trust_level",
        "consequences.affects_backups",
        "rationale.verified",
        "consequences.rollback_plan",
    }
    assert avow.evaluate(record(trust_level="low")).assumptions == ()


@pytest.mark.clause("IRL-2.06", "IRL-2.13")
def test_what_absent_means():
    """Scope is permanent, rows unbounded, data loss none for a read and undeclared otherwise."""
    read = lower.read(record(data_loss_risk=ABSENT)).claims
    write = lower.read(record(type="write", data_loss_risk=ABSENT)).claims
    assert (read.scope, read.rows, read.data_loss) == (Scope.PERMANENT, -1, DataLoss.NONE)
    assert write.data_loss is DataLoss.UNDECLARED
    assert lower.read(record(scope="temporary")).claims.scope is Scope.TEMPORARY


def test_evidence_fields_are_kept():
    """The optional evidence of a record reaches the declaration unchanged."""
    call = {"server": "files", "tool": "write", "arguments": {"path": "/x", "n": [1, None]}}
    declared = lower.read(
        {
            **record(
                command="rm -rf /tmp/x",
                sql="drop table t",
                tool_call=call,
                source_environment="local",
                evidence=["fact_1"],
                snapshot_id="snap_1",
                downstream_services=["billing"],
            ),
            "signature": SIGNATURE,
        }
    )
    assert declared.runnable.command == "rm -rf /tmp/x"
    assert declared.runnable.sql == "drop table t"
    assert declared.runnable.tool_call == call
    assert declared.claims.evidence == ("fact_1",)
    assert declared.claims.snapshot_id == "snap_1"
    assert declared.claims.downstream == ("billing",)
    assert declared.seal.did == SIGNATURE["did"]
    assert (declared.seal.id, declared.seal.signed_ms) == ("signed-1", 1_794_000_000_000)
    assert declared.seal.value == bytes(64)
    assert b'"signature"' not in declared.seal.document


@pytest.mark.clause("IRL-2.17", "IRL-2.18", "IRL-5.14", "IRL-5.16")
@pytest.mark.parametrize(
    ("fields", "decision"),
    [
        ({}, "ALLOW"),
        ({"type": "write"}, "LOG_ALLOW"),
        ({"type": "write", "target_environment": "production"}, "GATE"),
        ({"type": "delete", "target_environment": "production"}, "DENY"),
    ],
)
def test_the_answer_is_in_the_words_of_the_protocol(fields, decision):
    """Each decision has all fields, in the types and forms that the protocol names."""
    verdict = avow.evaluate(record(**fields))
    answer = render.answer(
        conclusion.plain(verdict),
        verdict_id="ver_1",
        timestamp="2026-04-24T15:03:21.000Z",
        digest=verdict.digest,
    )
    assert answer["decision"] == decision
    assert answer["requires_human"] is (decision == "GATE")
    risk = answer["risk"]
    assert set(risk) == {"score", "level", "reasons", "computed_by"}
    assert risk["computed_by"] == "irl-v0.1"
    assert risk["level"] in ("low", "medium", "high", "critical")
    assert type(risk["score"]) is int
    assert 0 <= risk["score"] <= 100
    assert answer["reason"]
    identity, _, slug = answer["policy_triggered"].partition(": ")
    assert identity.startswith("POL-")
    assert slug
    assert answer["timestamp"].endswith("Z")
    assert json.loads(json.dumps(answer)) == answer
    promised = {"verdict_id", "decision", "risk", "policy_triggered", "reason", "timestamp"}
    promised |= {"requires_human", "findings", "journal"}
    assert promised <= set(answer)
    assert all(key in promised or key.startswith("x_") for key in answer)


@pytest.mark.clause("IRL-2.17", "IRL-2.18")
def test_every_answer_has_its_types():
    """Over a grid of records, risk and verdict have their fields, types and closed sets."""
    for fields in itertools.islice(lattice(), 0, None, 13):
        verdict = avow.evaluate(record(**fields))
        answer = render.answer(
            conclusion.plain(verdict),
            verdict_id="ver_1",
            timestamp="2026-04-24T15:03:21.000Z",
            digest=verdict.digest,
        )
        risk = answer["risk"]
        assert risk["level"] in ("low", "medium", "high", "critical")
        assert type(risk["score"]) is int
        assert 0 <= risk["score"] <= 100
        assert risk["computed_by"] == "irl-v0.1"
        assert answer["decision"] in ("ALLOW", "LOG_ALLOW", "GATE", "DENY")
        assert re.fullmatch(r"POL-\d{3,4}: [a-z0-9-]+", answer["policy_triggered"])
        assert answer["decision"] != "DENY" or answer["x_hint"]
        assert answer["decision"] not in ("ALLOW", "LOG_ALLOW") or not answer["x_hint"]


@pytest.mark.clause("IRL-2.19")
@pytest.mark.parametrize("policy", ["default", "irl-0.1"])
def test_the_published_example(policy, request):
    """The example of the specification is denied with its policy and its very reason."""
    text = (request.config.rootpath / "examples" / "incident.jsonc").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.strip().startswith("//"))
    verdict = avow.evaluate(body, policy=policy)
    assert (verdict.outcome.name, verdict.score, verdict.level.word) == ("DENY", 100, "critical")
    assert verdict.decided_by.name == "POL-003: no-destructive-production"
    assert verdict.decided_by.says == "production delete + no rollback + affects backups"
    assert verdict.ignored == ("risk", "verdict")


@pytest.mark.clause("IRL-6.01")
def test_the_schema_is_published():
    """The model exports a JSON Schema that names every field and forbids unknown ones."""
    schema = document.schema()
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) >= {"agent", "operation", "rationale", "consequences"}
    groups = ("Agent", "Operation", "Rationale", "Consequences")
    assert all(schema["$defs"][group]["additionalProperties"] is False for group in groups)
    assert all(schema["$defs"][group]["patternProperties"] == {"^x_": {}} for group in groups)
    assert schema["$id"].endswith(document.SCHEMA_VERSION)


def test_an_answer_to_ten_thousand_faults_stays_readable():
    """The first hundred problems are listed, the rest is counted, and long names are cut."""
    many = {**NEUTRAL, **{f"{number}{'k' * 90}": 1 for number in range(2000)}}
    with pytest.raises(MalformedError) as caught:
        avow.evaluate(many)
    assert len(caught.value.problems) == 100
    assert str(caught.value).endswith("; and 1900 more")
    assert len(str(caught.value)) < 20_000


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.sampled_from(sorted(lower._GROUPS)), st.text(max_size=12), JUNK)
def test_junk_in_any_place_is_refused_or_judged(group, key, junk):
    """Any value under any key of any group gives a verdict or a listed problem, nothing else."""
    value = copy.deepcopy(NEUTRAL)
    value[group] = {**value[group], key: junk}
    try:
        avow.evaluate(value)
    except MalformedError as error:
        assert all(problem.code in CODES for problem in error.problems)


@given(JUNK)
def test_junk_is_not_a_record(junk):
    """A value that is no record is refused."""
    with pytest.raises(MalformedError):
        avow.evaluate(json.dumps(junk))
    with pytest.raises(MalformedError):
        lower.read(junk)


def test_unknown_dialects_are_refused():
    """Asking for a dialect nobody speaks is an error of the caller."""
    judge = Judge()
    with pytest.raises(MalformedError, match="no dialect `latin`"):
        judge.read(b"{}", "latin")
    with pytest.raises(MalformedError):
        judge.read(b"{}", "irl")
    assert judge.refused == {"declaration.unknown_dialect": 1, "declaration.invalid": 1}
