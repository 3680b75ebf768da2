"""Two servers on one PostgreSQL: one journal, one registry, and no answer without the database."""

import contextlib
import json
import time

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from avow.adapters.store.postgres import PostgresStore
from avow.clients.verifier import verify
from avow.core.errors import FaultError
from tests import serving, stores
from tests.records import body, record

HARMLESS = {"type": "read", "target_environment": "local"}


@contextlib.contextmanager
def nodes(folder, address, count=2, **options):
    """Run several servers on one database and give a client for each, all as the first admin."""
    with contextlib.ExitStack() as stack:
        clients, key = [], ""
        for number in range(count):
            served = stack.enter_context(
                serving.server(folder / str(number), "--store", address, **options)
            )
            key = key or served.key
            headers = {"Authorization": f"Bearer {key}"}
            clients.append(
                stack.enter_context(
                    httpx.Client(base_url=served.address, headers=headers, timeout=30)
                )
            )
        yield clients


def declare(client, headers=None, **fields):
    return client.post("/v1/evaluate", content=body(record(**fields)), headers=headers)


def test_two_nodes_write_one_journal(tmp_path, address):
    """What is declared on either node stands in one gapless chain, under the keys of both."""
    with nodes(tmp_path, address) as clients:
        assert clients[1].get("/v1/people").json()[0]["id"] == "admin"
        made = [declare(clients[number % 2], **HARMLESS).json() for number in range(40)]
        positions = [said["journal"]["position"] for said in made]
        assert len(set(positions)) == 40
        for said in made:
            assert clients[0].get(f"/v1/verdicts/{said['verdict_id']}").status_code == 200
        export = clients[1].get("/v1/journal/export").content.splitlines(keepends=True)
        keys = "".join(client.get("/v1/journal/keys").text for client in clients)
    anchors = "".join((tmp_path / str(n) / "anchor.notes").read_text() for n in range(2))
    report = verify(export, anchors=anchors, keys=keys)
    assert report.problems == []
    assert report.entries == len(export) - 1
    assert len(report.keys) == 2


def test_what_one_node_knows_the_other_goes_by(tmp_path, address):
    """Registered on one, known on the other; revoked on one, refused on the other at once."""
    with nodes(tmp_path, address) as (one, other):
        made = one.post("/v1/agents", json={"id": "agent-1", "trust": "high"}).json()
        key = {"Authorization": f"Bearer {made['key']}"}
        assert declare(other, headers=key, **HARMLESS).status_code == 200
        one.delete("/v1/agents/agent-1")
        refused = declare(other, headers=key, **HARMLESS)
        assert (refused.status_code, refused.json()["code"]) == (401, "auth.revoked")


def test_a_key_of_the_caller_holds_across_nodes(tmp_path, address):
    """A retry that reaches the other node gets the same verdict."""
    with nodes(tmp_path, address) as clients:
        headers = {"Idempotency-Key": "retry-1"}
        answers = [declare(client, headers=headers, **HARMLESS).json() for client in clients]
        assert answers[0] == answers[1]


@pytest.mark.clause("IRL-6.08")
def test_the_breaker_counts_what_both_nodes_saw(tmp_path, address):
    """Spread over two nodes, the operations of one agent are counted together."""
    limits = {"AVOW_BREAKER_CHANGE_MOST": "3"}
    write = {"type": "write", "target_environment": "local"}
    with nodes(tmp_path, address, environment=limits) as clients:
        statuses = [declare(clients[number % 2], **write).status_code for number in range(6)]
        assert statuses == [200, 200, 200, 403, 403, 403]


def test_events_of_one_node_reach_the_other(tmp_path, address):
    """Who listens on one node hears of what is declared on the other."""
    with nodes(tmp_path, address) as (one, other), other.stream("GET", "/v1/events") as stream:
        said = declare(one, **HARMLESS).json()
        for line in stream.iter_lines():
            if line.startswith("data: "):
                assert json.loads(line[6:])["verdict"] == said["verdict_id"]
                break


@pytest.mark.clause("IRL-5.15")
def test_without_the_database_nothing_is_allowed(tmp_path, server, address):
    """Connections cut off: what comes meanwhile is answered or refused, and then it goes on."""
    with nodes(tmp_path, address, count=1) as (one,):
        assert declare(one, **HARMLESS).status_code == 200
        name = conninfo_to_dict(address)["dbname"]
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            refused = declare(one, **HARMLESS)
            assert (refused.status_code, refused.json()["code"]) == (503, "store.unavailable")
            assert one.get("/healthz").status_code == 200
            assert one.get("/readyz").status_code == 503
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        ends = time.monotonic() + 20
        while (status := declare(one, **HARMLESS).status_code) != 200:
            assert status == 503
            assert time.monotonic() < ends
        export = one.get("/v1/journal/export").content.splitlines(keepends=True)
        assert verify(export).problems == []


def test_what_the_database_refuses_fails_alone(address):
    """A command with what PostgreSQL cannot hold fails by itself, and its neighbours pass."""
    store = PostgresStore(address)
    writer = stores.writer(store)
    asked = stores.together(
        writer, stores.note, lambda work: work.verdicts.find("a\0b"), stores.note
    )
    with pytest.raises(FaultError):
        asked[1].result(timeout=20)
    assert [asked[n].result(timeout=20) for n in (0, 2)] == [2, 3]
    writer.close()
    store.close()
