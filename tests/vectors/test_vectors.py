"""Vectors are data: the same files through the library, the command line and HTTP."""

import json
import os
from pathlib import Path

import pytest

import avow
from avow import wiring
from avow.channels.cli.app import run
from avow.engine import trials
from tests import serving
from tests.records import record

FILES = sorted(Path(__file__).parent.glob("*.json"))
OUTSIDE = os.environ.get("AVOW_VECTORS")


def load(file):
    return trials.read(json.loads(file.read_text()), file.name)


def judge(trial):
    trust = None if trial.trust is None else trial.trust.word
    return avow.evaluate(trial.record, policy=trial.policy, trust=trust)


@pytest.mark.clause("IRL-6.01")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_through_the_library(file):
    """Every vector comes out as expected in process."""
    tried = [trials.run(trial, judge) for trial in load(file)]
    assert len(tried) > 70
    assert [one for one in tried if not one.passed] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_through_the_command_line(file, tmp_path, capsys):
    """Every vector comes out as expected from `avow evaluate`, exit code included."""
    for trial in load(file)[::4]:
        (tmp_path / "record").write_bytes(trial.record)
        trust = [] if trial.trust is None else ["--trust", trial.trust.word]
        path = str(tmp_path / "record")
        code = run(["evaluate", path, "--json", "--policy", trial.policy, *trust], wiring.desk)
        answer = json.loads(capsys.readouterr().out)
        if "malformed" in trial.expect:
            assert (code, answer["code"]) == (2, trial.expect["malformed"])
            continue
        assert code == {"ALLOW": 0, "LOG_ALLOW": 0, "GATE": 20, "DENY": 30}[answer["decision"]]
        assert answer["decision"] == trial.expect["outcome"]
        assert answer["risk"]["score"] == trial.expect["score"]
        assert answer["risk"]["reasons"] == trial.expect["reasons"]
        assert sorted({f["id"] for f in answer["findings"]}) == trial.expect["rules"]


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.name)
def served_file(request, tmp_path_factory):
    """Start a server under the policy of a file, with one agent registered for each trust."""
    data = tmp_path_factory.mktemp("vectors") / "data"
    with (
        serving.server(data, "--policy", request.param.stem) as served,
        avow.Client(served.address, served.key) as client,
    ):
        for trust in avow.Trust:
            client.add_agent(f"vector-{trust.word}", trust.word)
        yield request.param, client


def named(trial):
    """Return the record under the agent whose registered trust the vector expects."""
    if "malformed" in trial.expect:
        return trial.record
    value = json.loads(trial.record)
    value["agent"]["id"] = f"vector-{'nobody' if trial.trust is None else trial.trust.word}"
    return json.dumps(value).encode()


@pytest.mark.clause("IRL-6.01")
def test_through_http(served_file):
    """Every vector comes out as expected from a real server, and the journal says the same."""
    file, client = served_file
    for trial in load(file):
        assert trial.policy == file.stem
        try:
            answer = client.evaluate(named(trial))
        except avow.MalformedError as error:
            assert error.code == trial.expect.get("malformed"), trial.name
            continue
        got = {
            "outcome": answer.outcome.name,
            "score": answer.score,
            "level": answer.level.word,
            "reasons": list(answer.reasons),
            "rules": sorted({finding.id for finding in answer.findings}),
            "hazard": answer.raw["x_hazard"],
        }
        assert got == trial.expect, trial.name
        entry = client.journal(after=answer.journal.position - 1, most=1).entries[0].body
        assert (entry["outcome"], entry["score"]) == (got["outcome"], got["score"])


def test_a_wrong_expectation_is_found():
    """A vector that expects something else is reported with both values."""
    trial = trials.Trial(
        name="wrong",
        record=json.dumps(record()).encode(),
        expect={"score": 1},
        trust=None,
        policy="default",
    )
    assert trials.run(trial, judge).differences == (("score", 1, 0),)
    malformed = trials.Trial(
        name="wrong",
        record=json.dumps(record()).encode(),
        expect={"malformed": "x"},
        trust=None,
        policy="default",
    )
    assert trials.run(malformed, judge).differences == (("malformed", "x", "ALLOW"),)
    missing = trials.Trial(
        name="wrong", record=b"{", expect={"score": 1}, trust=None, policy="default"
    )
    assert trials.run(missing, judge).differences == (
        ("malformed", None, "declaration.unreadable"),
    )


@pytest.mark.skipif(OUTSIDE is None, reason="AVOW_VECTORS names no folder of outside vectors")
def test_outside_vectors():
    """The samples of the published implementation come out as its rules say, with data loss scored."""
    given = json.loads((Path(OUTSIDE) / "irl.json").read_text())
    fields = {"op": "type", "env": "target_environment", "trust": "trust_level"}
    for sample in given["samples"]:
        values = {fields.get(key, key): value for key, value in sample["input"].items()}
        others = values.pop("alternatives")
        for flag in ("reversible", "verified", "affects_backups", "rollback_plan"):
            values[flag] = bool(values[flag])
        declared = record(**values, alternatives_considered=["a"] if others else [])
        verdict = avow.evaluate(declared, policy="irl-0.1")
        assert verdict.score == sample["score"], sample["name"]
        assert verdict.level.word == sample["level"]
        assert verdict.outcome.name == sample["decision"]
        assert verdict.decided_by.id == sample["policy"]
        # The published source also lists the operation itself and total data loss as reasons.
        extra = {"total data loss risk"}
        listed = [
            r for r in sample["reasons"] if "operation" not in r or r.startswith("irreversible")
        ]
        listed = [r for r in listed if r not in extra and not r.startswith("network call")]
        assert list(verdict.reasons) == listed
