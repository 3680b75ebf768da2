"""Both clients against a real server: verdicts, the registry, the journal, signed records."""

import json
import time
from itertools import count
from pathlib import Path

import httpx
import pytest

import avow
from avow.clients import receipts
from avow.dialects.reading import strip_comments
from tests import serving
from tests.clients.fakes import KINDS
from tests.records import record

ROOT = Path(__file__).parent.parent.parent
INCIDENT = strip_comments((ROOT / "examples" / "incident.jsonc").read_bytes())
MIGRATION = json.loads((ROOT / "examples" / "migration.json").read_text())
CASES = {
    "ALLOW": (record(), 200),
    "LOG_ALLOW": (record(type="write"), 200),
    "GATE": (MIGRATION, 202),
    "DENY": (INCIDENT, 403),
}
NUMBERS = count(1)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving.server(tmp_path_factory.mktemp("served") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """Start a server whose breaker for reads opens at the second one."""
    environment = {"AVOW_BREAKER_READ_MOST": "1"}
    folder = tmp_path_factory.mktemp("strict") / "data"
    with serving.server(folder, environment=environment) as running:
        yield running


@pytest.fixture(params=KINDS)
def open_client(request):
    """Open clients of either kind, and close them after."""
    opened = []

    def make(served, key=None, **options):
        opened.append(KINDS[request.param](served.address, key or served.key, **options))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


@pytest.fixture
def client(open_client, served):
    return open_client(served)


def fresh(name):
    """Return a name that no other test has."""
    return f"{name}-{next(NUMBERS)}"


@pytest.mark.clause("IRL-5.17")
@pytest.mark.parametrize("word", CASES)
def test_every_outcome_is_a_value_and_has_its_status(client, served, word):
    """Each outcome comes back as an answer, and on the wire with the status it must have."""
    declared, status = CASES[word]
    answer = client.evaluate(declared)
    assert answer.outcome is avow.Outcome[word]
    assert answer.allowed is (status == 200)
    assert answer.requires_human is (status == 202)
    body = declared if isinstance(declared, bytes) else json.dumps(declared).encode()
    posted = httpx.post(f"{served.address}/v1/evaluate", content=body, headers=served.headers)
    assert (posted.status_code, posted.json()["decision"]) == (status, word)


@pytest.mark.parametrize("form", [dict, bytes, str])
def test_the_answer_says_what_the_library_says(client, form):
    """Score, level, reasons, findings and digest are those of `avow.evaluate`."""
    declared = {dict: json.loads(INCIDENT), bytes: INCIDENT, str: INCIDENT.decode()}[form]
    answer, verdict = client.evaluate(declared), avow.evaluate(INCIDENT)
    for name in ("outcome", "score", "level", "reasons", "digest"):
        assert getattr(answer, name) == getattr(verdict, name)
    assert [(one.id, one.floor, one.says) for one in answer.findings] == [
        (one.id, one.floor, one.says) for one in verdict.findings
    ]
    assert answer.policy_triggered == verdict.decided_by.name
    assert answer.raw["x_hazard"] == verdict.hazard


@pytest.mark.clause("IRL-5.18")
def test_two_verdicts_have_two_ids_and_two_entries(client):
    """The same record twice has two ids, and each resolves to the entry that names it."""
    answers = [client.evaluate(record()) for _ in range(2)]
    assert answers[0].verdict_id != answers[1].verdict_id
    for answer in answers:
        assert {"decision", "risk", "verdict_id"} <= answer.raw.keys()
        page = client.journal(after=answer.journal.position - 1, most=1)
        assert page.entries[0].body["verdict"] == answer.verdict_id
        assert f"sha256:{page.entries[0].hash}" == answer.journal.hash
        standing = client.verdict(answer.verdict_id)
        assert (standing.digest, standing.journal) == (answer.digest, answer.journal)


@pytest.mark.clause("IRL-6.02")
def test_the_address_of_the_specification_answers_the_example(client, served):
    """The example posted to `/evaluate` is denied with 403 and the body the client reads."""
    posted = httpx.post(f"{served.address}/evaluate", content=INCIDENT, headers=served.headers)
    assert posted.status_code == 403
    answer = client.verdict(posted.json()["verdict_id"])
    assert (answer.outcome, answer.score) == (avow.Outcome.DENY, posted.json()["risk"]["score"])


def test_a_key_of_repetition_gives_the_same_verdict(client):
    """The same key returns the same verdict and writes nothing; another record is a conflict."""
    key = fresh("key")
    first = client.evaluate(record(), idempotency_key=key)
    size = client.ready().journal
    assert client.evaluate(record(), idempotency_key=key) == first
    assert client.ready().journal == size
    with pytest.raises(avow.ConflictError) as caught:
        client.evaluate(record(type="write"), idempotency_key=key)
    assert caught.value.code == "idempotency.mismatch"


def test_a_simulation_writes_and_allows_nothing(client):
    """The outcome is told, the journal stays as it is, and nothing is allowed by it."""
    size = client.ready().journal
    answer = client.simulate(record())
    assert (answer.outcome, answer.state) == (avow.Outcome.ALLOW, "simulated")
    assert (answer.allowed, answer.journal, answer.verdict_id) == (False, None, "")
    assert client.ready().journal == size


def test_every_problem_of_a_record_comes_back(client):
    """A malformed record raises with the paths of all that is wrong with it."""
    with pytest.raises(avow.MalformedError) as caught:
        client.evaluate(record(verified="x", reversible="y"))
    assert caught.value.code == "declaration.invalid"
    assert {one.path for one in caught.value.problems} == {
        "rationale.verified",
        "consequences.reversible",
    }
    for broken in (b"{", "", b"\xff"):
        with pytest.raises(avow.MalformedError):
            client.evaluate(broken)


def test_refusals_have_their_codes(client, open_client, served):
    """A wrong key, another's name and an unknown verdict are refused, each by its code."""
    agent = client.add_agent(fresh("agent"))
    cases = {
        "auth.unknown": lambda: open_client(served, "avow_" + "0" * 40).agents(),
        "auth.forbidden": lambda: open_client(served, agent.key).agents(),
        "agent.mismatch": lambda: open_client(served, agent.key).evaluate(record()),
        "verdict.unknown": lambda: client.verdict("ver_unknown"),
        "journal.no_such_entry": lambda: client.receipt(10**9),
        "agent.unknown": lambda: client.revoke_agent("nobody"),
    }
    for code, refused in cases.items():
        with pytest.raises(avow.RefusedError) as caught:
            refused()
        assert caught.value.code == code


def test_agents_and_people_come_and_go(client, open_client, served):
    """A fresh agent and a fresh person have a key that works until they are revoked."""
    name = fresh("team/bot")
    agent = client.add_agent(name, "high")
    person = client.add_person(fresh("person"), ["auditor", "operator"])
    assert agent.key not in repr(agent)
    assert person.key not in repr(person)
    assert (agent.trust, person.roles) == ("high", ("auditor", "operator"))
    assert name in {one.id for one in client.agents() if one.revoked is None and not one.key}
    assert person.id in {one.id for one in client.people()}
    spoken = open_client(served, agent.key).evaluate(
        record(id=name, type="write", trust_level="high")
    )
    assert spoken.raw["x_trust"] == "high"
    client.revoke_agent(name)
    client.revoke_person(person.id)
    assert next(one for one in client.agents() if one.id == name).revoked
    for key in (agent.key, person.key):
        with pytest.raises(avow.RefusedError) as caught:
            open_client(served, key).simulate(record(id=name))
        assert caught.value.code == "auth.revoked"
    with pytest.raises(avow.ConflictError):
        client.add_agent(name)


def test_a_breaker_opens_is_listed_and_closed(open_client, strict):
    """An agent that reads too fast is denied, its breaker is listed, and can be closed."""
    client, name = open_client(strict), fresh("hasty")
    outcomes = [client.evaluate(record(id=name)).outcome for _ in range(3)]
    assert outcomes[-1] is avow.Outcome.DENY
    assert outcomes[0] is avow.Outcome.ALLOW
    assert (name, "read") in {(one.agent, one.means) for one in client.breakers()}
    client.close_breaker(name, "read")
    assert name not in {one.agent for one in client.breakers()}
    with pytest.raises(avow.RefusedError) as caught:
        client.close_breaker(name, "read")
    assert caught.value.code == "breaker.not_open"


def test_a_verdict_is_redeemed_and_reported_once(client):
    """An allowed verdict becomes one permit, its outcome is told once, and it allows no more."""
    answer = client.evaluate(record())
    assert client.verdict(answer.verdict_id).allowed
    permit = client.redeem(answer.verdict_id)
    assert (permit.verdict_id, permit.digest) == (answer.verdict_id, answer.digest)
    assert permit.token > answer.journal.position
    assert permit.expires_ms > permit.issued_ms
    with pytest.raises(avow.ConflictError):
        client.redeem(answer.verdict_id)
    after = client.verdict(answer.verdict_id)
    assert (after.state, after.allowed) == ("redeemed", False)
    position = client.outcome(answer.verdict_id, "done", "as planned")
    assert client.journal(after=position - 1, most=1).entries[0].body["ended"] == "done"
    with pytest.raises(avow.ConflictError):
        client.outcome(answer.verdict_id, "done")
    with pytest.raises(avow.MalformedError):
        client.outcome(client.evaluate(record()).verdict_id, "splendid")


def test_what_waits_or_is_denied_is_not_redeemed(client):
    """A question without an answer is a conflict, a denial a refusal; waiting ends in time."""
    waiting = client.evaluate(MIGRATION)
    standing = client.verdict(waiting.verdict_id, wait_s=0.1)
    assert (standing.state, standing.allowed) == ("waiting", False)
    with pytest.raises(avow.ConflictError) as open_one:
        client.redeem(waiting.verdict_id)
    with pytest.raises(avow.RefusedError) as denied:
        client.redeem(client.evaluate(INCIDENT).verdict_id)
    assert (open_one.value.code, denied.value.code) == ("verdict.waiting", "verdict.denied")


def test_a_wait_may_be_longer_than_the_timeout(open_client, served):
    """Who asks the server to wait does not take that for silence."""
    client = open_client(served, timeout_s=0.5)
    waiting = client.evaluate(MIGRATION)
    assert waiting.requires_human
    assert client.verdict(waiting.verdict_id, wait_s=1.5).state == "waiting"


def test_the_journal_can_be_checked_by_whoever_asks(client, tmp_path):
    """Export, checkpoint and ring verify in every form; a changed letter is found."""
    answer = client.evaluate(record())
    receipt = client.receipt(answer.verdict_id)
    note, ring, lines = client.checkpoint(), client.keys(), list(client.export_journal())
    file = tmp_path / "journal.txt"
    file.write_bytes(b"".join(lines))
    for export in (file, str(file), b"".join(lines), lines, iter(lines)):
        report = avow.verify_journal(export, anchors=note, keys=ring)
        assert (report.problems, report.anchors_good) == ([], 1)
        assert report.entries == len(lines) - 1
        assert report.anchored >= answer.journal.position
    changed = [line.replace(b'"outcome":"ALLOW"', b'"outcome":"DENY"') for line in lines]
    assert not avow.verify_journal(changed, anchors=note, keys=ring).is_good
    assert avow.check_receipt(receipt, keys=ring).is_good
    forged = receipt.replace("ALLOW", "DENY")
    assert forged != receipt
    assert not avow.check_receipt(forged, keys=ring).is_good


def test_a_later_checkpoint_only_adds(client):
    """The path between two checkpoints proves that the journal grew; another path does not."""
    first_position = client.evaluate(record()).journal.position
    client.receipt(first_position)
    first = client.checkpoint()
    second_position = client.evaluate(record()).journal.position
    client.receipt(second_position)
    second, ring = client.checkpoint(), client.keys()
    sizes = [int(note.split("\n")[1]) for note in (first, second)]
    path = client.consistency(*sizes)
    assert receipts.check_consistency(first, second, path, keys=ring).is_good
    wrong = ("0" * 64, *path[1:])
    assert not receipts.check_consistency(first, second, wrong, keys=ring).is_good


def test_pages_of_the_journal_follow_each_other(client):
    """`next` leads from page to page up to the end."""
    for _ in range(3):
        client.evaluate(record())
    positions, after = [], 0
    while after is not None:
        page = client.journal(after=after, most=5)
        positions += [entry.position for entry in page.entries]
        after = page.next
    assert positions == list(range(1, page.size + 1))


def test_events_tell_of_every_entry_behind_a_position(client):
    """What was written before and after the stream was opened comes in order, each once."""
    start = client.ready().journal
    before = client.evaluate(record())
    events = client.events(after=start)
    first = next(events)
    later = client.evaluate(MIGRATION | {"x_number": next(NUMBERS)})
    second = next(events)
    events.close()
    assert [(position, entry["verdict"]) for position, entry in (first, second)] == [
        (before.journal.position, before.verdict_id),
        (later.journal.position, later.verdict_id),
    ]


def test_the_house_tells_of_itself(client):
    """Policy, conformance and readiness are there for who asks."""
    assert client.policy()["name"] == "default"
    assert client.conformance()["declared_by"] == "self"
    assert client.ready().status == "ready"


class Signing:
    """An agent that was registered with its did, a client of its own, and its key."""

    def __init__(self, client, open_client, served, trust="verified"):
        self.key = avow.SigningKey.generate()
        self.name = fresh("signer")
        self.added = client.add_agent(self.name, trust, self.key.did)
        self.plain = open_client(served, self.added.key)
        self.client = open_client(served, self.added.key, signing_key=self.key)

    def record(self, **fields):
        return record(id=self.name, trust_level="verified", type="write", **fields)


@pytest.fixture
def signing(client, open_client, served):
    return Signing(client, open_client, served)


@pytest.mark.clause("IRL-6.14")
def test_a_signed_record_is_trusted_as_far_as_its_agent(signing, client):
    """Signed by the registered key, the agent counts as verified; unsigned it does not."""
    dids = {agent.id: agent.did for agent in client.agents()}
    assert dids[signing.name] == signing.key.did
    for form in (
        signing.record(),
        json.dumps(signing.record()),
        json.dumps(signing.record()).encode(),
    ):
        answer = signing.client.evaluate(form)
        assert answer.allowed
        assert answer.raw["x_trust"] == "verified"
        entry = client.journal(after=answer.journal.position - 1, most=1).entries[0]
        assert entry.body["signature"] == "valid"
    assert signing.plain.evaluate(signing.record()).raw["x_trust"] != "verified"
    assert signing.client.simulate(signing.record()).raw["x_trust"] == "verified"


@pytest.mark.clause("IRL-6.14")
def test_a_changed_byte_and_another_key_are_denied(signing):
    """One changed byte, or the key of somebody else, is denied by the rule for signatures."""
    signed = signing.key.sign(signing.record())
    changed = {**signed, "operation": {**signed["operation"], "target_resource": "table:order_"}}
    other = avow.SigningKey.generate()
    stranger, borrowed = other.sign(signing.record()), other.sign(signing.record())
    borrowed["signature"]["did"] = signing.key.did
    for bad in (changed, stranger, borrowed):
        answer = signing.plain.evaluate(bad)
        assert answer.outcome is avow.Outcome.DENY
        assert "POL-020" in {finding.id for finding in answer.findings}
    assert signing.plain.evaluate(signing.key.sign(signing.record())).allowed


@pytest.mark.clause("IRL-6.14")
def test_a_signature_is_accepted_once(signing):
    """The same signature again is a conflict, under whatever key of repetition."""
    signed = signing.key.sign(signing.record())
    key = fresh("key")
    first = signing.plain.evaluate(signed, idempotency_key=key)
    assert first.allowed
    with pytest.raises(avow.ConflictError) as caught:
        signing.plain.evaluate(signed)
    assert caught.value.code == "signature.replayed"
    assert signing.plain.evaluate(signed, idempotency_key=key).verdict_id == first.verdict_id


@pytest.mark.clause("IRL-6.14")
@pytest.mark.parametrize("away_ms", [-3_600_000, 3_600_000])
def test_a_signature_of_another_time_is_refused(signing, away_ms):
    """An hour too old or too early, a record is refused and may be signed anew."""
    at_ms = time.time_ns() // 1_000_000 + away_ms
    with pytest.raises(avow.RefusedError) as caught:
        signing.plain.evaluate(signing.key.sign(signing.record(), signed_ms=at_ms))
    assert caught.value.code == "signature.stale"
    assert signing.client.evaluate(signing.record()).allowed


def test_what_is_computed_may_be_sent_beside_a_signature(signing):
    """Groups that the engine computes are not signed, and do not spoil the signature."""
    declared = signing.record() | {"risk": {"score": 0}, "verdict": None, "x_own": [1.5, "é"]}
    answer = signing.client.evaluate(declared)
    assert answer.raw["x_trust"] == "verified"
    assert "risk" in answer.raw["x_ignored"]
