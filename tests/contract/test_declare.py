"""A declaration recorded: one transaction, one entry, one verdict, on every store."""

import json

import pytest

from avow.adapters.store import journal
from avow.adapters.store.journal import JournalAppender
from avow.core import agent
from avow.core.agent import Agent
from avow.core.errors import FaultError
from avow.core.principal import Principal, Role
from avow.core.rate import Limit
from avow.core.words import Means, Outcome, Trust
from avow.engine.conclusions import Conclusions
from avow.engine.declare import ENTROPY_BYTES, Declare
from avow.engine.judgement import Judge
from avow.engine.register import AddPerson
from tests import stores
from tests.records import body, record

TENANT = "main"
WRITE = {"type": "write", "trust_level": "high"}
ADMIN = Principal("boss", frozenset({Role.ADMIN}))


@pytest.fixture
def writer(store):
    made = stores.writer(store)
    digest = agent.key_digest("avow_boss")
    made.call(AddPerson(by="test", person_id="boss", roles=ADMIN.roles, key_digest=digest))
    yield made
    made.close()


def declared(policy, seed=0, **fields):
    sent = body(record(**fields))
    return Declare(
        intent=Judge().read(sent),
        text=sent.decode(),
        principal=ADMIN,
        channel="test",
        policy=policy,
        entropy=bytes([seed]) * ENTROPY_BYTES,
        conclusions=Conclusions(),
        gate_ms=300_000,
    )


def entry_at(store, position):
    with store.reader() as connection:
        return json.loads(journal.entries(connection, TENANT, after=position - 1)[0].body)


def registered(trust=Trust.HIGH, name="agent-1", seed=1):
    digest = agent.key_digest(agent.key(bytes([seed]) * agent.KEY_BYTES))
    return Agent(id=name, trust=trust, key_digest=digest, added_ms=5)


def do(writer, command):
    return writer.call(command, timeout_s=20)


@pytest.mark.clause("IRL-5.15", "IRL-5.18")
def test_a_verdict_is_recorded_with_what_led_to_it(writer, store, default):
    """The id resolves to the entry, which names digest, policy, rules and score; no free text."""
    fields = {"type": "delete", "target_environment": "production", "stated_goal": "a secret plan"}
    done = do(writer, declared(default, **fields))
    assert done.kept.outcome == Outcome.DENY.name
    found = do(writer, lambda work: work.verdicts.find(done.kept.id))
    assert (found.position, found.outcome, found.agent) == (2, "DENY", "agent-1")
    entry = entry_at(store, 2)
    assert entry["verdict"] == done.kept.id
    assert entry["intent"] == found.intent == done.kept.intent
    assert entry["policy"] == default.digest
    assert entry["outcome"] == "DENY"
    assert entry["at"] == done.kept.at_ms > 1_700_000_000_000
    assert "POL-003" in entry["rules"]
    assert "a secret plan" not in json.dumps(entry)
    with store.reader() as connection:
        kept = journal.text(connection, TENANT, 2, "declaration")
    assert "a secret plan" in kept.text
    assert entry["declaration"] == {"sha256": kept.digest}


@pytest.mark.clause("IRL-5.18")
def test_the_same_record_twice_has_two_ids(writer, default):
    """Each evaluation is an entry and an id of its own."""
    one, other = (do(writer, declared(default, seed)) for seed in (1, 2))
    assert one.kept.id != other.kept.id
    assert (one.kept.position, other.kept.position) == (2, 3)
    assert one.kept.intent == other.kept.intent
    assert do(writer, lambda work: work.verdicts.find("ver_unknown")) is None


@pytest.mark.clause("IRL-2.04")
def test_trust_comes_from_the_registry(writer, default):
    """An unknown agent is low, a registered one gets its level, a revoked one is low again."""
    assert do(writer, declared(default, 1, **WRITE)).conclusion.said["score"] == 20
    assert do(writer, lambda work: work.agents.add(registered()))
    assert do(writer, declared(default, 2, **WRITE)).conclusion.said["score"] == 10
    assert do(writer, lambda work: work.agents.revoke("agent-1", at_ms=9))
    assert do(writer, declared(default, 3, **WRITE)).conclusion.said["score"] == 20


def test_agents_are_added_once_and_revoked_once(writer):
    """A second agent of the same id changes nothing; keys find their agent; all are listed."""
    assert do(writer, lambda work: work.agents.add(registered()))
    assert not do(writer, lambda work: work.agents.add(registered(Trust.LOW, seed=2)))
    assert do(writer, lambda work: work.agents.add(registered(Trust.LOW, "agent-2", 3)))
    digest = registered().key_digest
    found = do(writer, lambda work: work.agents.by_key(digest))
    assert (found.id, found.trust, found.trust_now) == ("agent-1", Trust.HIGH, Trust.HIGH)
    assert do(writer, lambda work: work.agents.by_key("0" * 64)) is None
    assert [one.id for one in do(writer, lambda work: work.agents.listed())] == [
        "agent-1",
        "agent-2",
    ]
    assert do(writer, lambda work: work.agents.revoke("agent-1", at_ms=7))
    assert not do(writer, lambda work: work.agents.revoke("agent-1", at_ms=8))
    assert not do(writer, lambda work: work.agents.revoke("nobody", at_ms=8))
    assert do(writer, lambda work: work.agents.find("agent-1")).revoked_ms == 7
    assert do(writer, lambda work: work.agents.find("agent-1")).trust_now is None


@pytest.mark.clause("IRL-5.15")
def test_without_an_entry_there_is_no_answer(writer, store, default, monkeypatch):
    """If the journal cannot be written, the caller gets a fault and no verdict is kept."""

    def full(_self):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(JournalAppender, "flush", full)
        with pytest.raises(FaultError) as caught:
            do(writer, declared(default, 1))
    assert caught.value.code == "store.unavailable"
    with store.reader() as connection:
        assert connection.rows("SELECT count(*) FROM verdicts")[0][0] == 0
    assert do(writer, declared(default, 2)).kept.position == 2


def test_a_key_is_known_by_its_beginning_and_stored_as_a_digest():
    """A fresh key begins with avow_; its digest tells nothing of it; short entropy is our bug."""
    made = agent.key(b"k" * agent.KEY_BYTES)
    assert made.startswith("avow_")
    assert made not in agent.key_digest(made)
    assert agent.key_digest(made) != agent.key_digest(made + "x")
    with pytest.raises(AssertionError):
        agent.key(b"short")


def test_a_trip_that_was_not_committed_never_was(store, default, monkeypatch):
    """Where the commit fails, the breaker's memory goes back with it, and the next try trips it."""
    writer = stores.writer(store, read=Limit(most=1, window_ms=60_000, quiet_ms=60_000))
    digest = agent.key_digest("avow_boss")
    writer.call(AddPerson(by="test", person_id="boss", roles=ADMIN.roles, key_digest=digest))
    assert do(writer, declared(default, 1)).kept.outcome == "ALLOW"

    def full(_self):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(JournalAppender, "flush", full)
        with pytest.raises(FaultError):
            do(writer, declared(default, 2))
    assert not writer.pulse.is_open("agent-1", Means.READ, now_ms=do(writer, lambda w: w.now_ms()))
    assert do(writer, declared(default, 3)).kept.outcome == "DENY"
    assert [one[0] for one in writer.read(lambda view: view.breakers.listed())] == ["agent-1"]
    writer.close()
