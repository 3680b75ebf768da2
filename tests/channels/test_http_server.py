"""A whole server: limits, breaker, TLS, events, policies that change, failures that must deny."""

import contextlib
import datetime as dt
import ipaddress
import json
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import time

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from avow.clients import receipts
from avow.clients.verifier import verify
from tests import server_kills, serving
from tests.records import body, record

HARMLESS = {"type": "read", "target_environment": "local"}
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what must not be done unasked
GATED = {"type": "write", "target_environment": "production"}


@contextlib.contextmanager
def running(folder, *arguments, **options):
    with (
        serving.server(folder, *arguments, **options) as served,
        httpx.Client(base_url=served.address, headers=served.headers, timeout=20) as client,
    ):
        yield served, client


def declare(client, **fields):
    return client.post("/v1/evaluate", content=body(record(**fields)))


def entries(client, kind=None):
    found, after = [], 0
    while after is not None:
        page = client.get("/v1/journal", params={"after": after, "most": 1000}).json()
        found += [entry["body"] for entry in page["entries"]]
        after = page["next"]
    return [entry for entry in found if kind is None or entry["kind"] == kind]


def agent_key(client, name, trust="high"):
    return client.post("/v1/agents", json={"id": name, "trust": trust}).json()["key"]


def patiently(look, until, seconds=15):
    """Look again and again until it is so; return what was seen last."""
    ends = time.monotonic() + seconds
    while True:
        seen = look()
        if until(seen) or time.monotonic() > ends:
            assert until(seen), seen
            return seen
        time.sleep(0.05)


@pytest.mark.clause("ICNLI-14.3.02", "IRL-2.05")
def test_who_asks_too_fast_is_told_to_wait(tmp_path):
    """Beyond the allowance 429 with the wait, for that principal alone."""
    limits = {"AVOW_RATE_BURST": "3", "AVOW_RATE_PER_MINUTE": "60"}
    with running(tmp_path, environment=limits) as (_, admin):
        key = {"Authorization": f"Bearer {agent_key(admin, 'agent-1')}"}
        sent = body(record(**HARMLESS))
        answers = [admin.post("/v1/evaluate", content=sent, headers=key) for _ in range(5)]
        assert [answer.status_code for answer in answers[:3]] == [200] * 3
        refused = answers[4]
        assert (refused.status_code, refused.json()["code"]) == (429, "rate.limited")
        assert int(refused.headers["retry-after"]) >= 1
        assert declare(admin, id="agent-2", **HARMLESS).status_code == 200
        # Who speaks for an agent spends its allowance too.
        assert declare(admin, **HARMLESS).json()["code"] == "rate.limited"
        assert len(entries(admin, "verdict")) == sum(a.status_code == 200 for a in answers) + 1


@pytest.mark.clause("IRL-6.08")
def test_the_breaker_trips_and_closes_by_time_and_by_hand(tmp_path):
    """Too many deletes deny, by name of the breaker; reads go on; each move is journalled."""
    limits = {"AVOW_BREAKER_CHANGE_MOST": "2", "AVOW_BREAKER_QUIET_S": "2"}
    with running(tmp_path, environment=limits) as (_, admin):
        write = {"type": "write", "target_environment": "local"}
        answers = [declare(admin, **write) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 403, 403]
        assert answers[2].json()["policy_triggered"] == "POL-910: breaker-open"
        assert "2 write operations in 60 s" in answers[2].json()["reason"]
        assert declare(admin, **HARMLESS).status_code == 200
        assert declare(admin, id="agent-2", **write).status_code == 200
        assert [b["means"] for b in admin.get("/v1/breakers").json()] == ["write"]
        # by time
        patiently(lambda: admin.get("/v1/breakers").json(), lambda found: found == [])
        assert declare(admin, **write).status_code == 200
        # by hand
        assert [declare(admin, **write).status_code for _ in range(2)] == [200, 403]
        assert admin.delete("/v1/breakers/write/agent-1").status_code == 204
        assert declare(admin, **write).status_code == 200
        moves = [(entry["state"], entry["by"]) for entry in entries(admin, "breaker")]
        assert moves == [
            ("open", "rate"),
            ("closed", "time"),
            ("open", "rate"),
            ("closed", "person admin"),
        ]


def test_an_open_breaker_survives_a_restart(tmp_path):
    """A trip is not forgotten by stopping and starting, nor by a kill."""
    limits = {"AVOW_BREAKER_CHANGE_MOST": "1", "AVOW_BREAKER_QUIET_S": "600"}
    write = {"type": "write", "target_environment": "local"}
    with running(tmp_path, environment=limits) as (served, admin):
        assert [declare(admin, **write).status_code for _ in range(2)] == [200, 403]
        key = served.key
        served.process.kill()
        served.process.wait()
    with running(tmp_path, environment=limits) as (_, admin):
        admin.headers["Authorization"] = f"Bearer {key}"
        said = declare(admin, **write).json()
        assert said["policy_triggered"] == "POL-910: breaker-open"


@pytest.mark.clause("ICNLI-14.4.02")
@pytest.mark.parametrize(
    "arguments", [("--host", EVERYWHERE), ("--host", "::"), ("--host", "192.0.2.1")]
)
def test_it_does_not_listen_beyond_the_machine_without_tls(tmp_path, arguments):
    """Without a certificate it refuses to start and says what to do; nothing was begun."""
    command = [sys.executable, "-m", "avow", "up", "--data", str(tmp_path / "d"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "behind-tls-proxy" in done.stderr.replace("\n", "").replace(" ", "")
    assert not (tmp_path / "d").exists()


def test_told_plainly_it_listens_behind_a_proxy(tmp_path):
    """With the plain setting it binds beyond loopback, and still answers for its hosts only."""
    plain = {"AVOW_HTTP_BEYOND_LOOPBACK": "behind-tls-proxy", "AVOW_HTTP_HOSTS": "avow.example"}
    with serving.server(tmp_path, "--host", EVERYWHERE, environment=plain) as served:
        port = served.address.rsplit(":", 1)[1]
        address = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{address}/healthz", headers={"Host": "avow.example"}).status_code == 200
        assert httpx.get(f"{address}/healthz", headers={"Host": "else.example"}).status_code == 403


def certificate(folder):
    """Make a certificate for 127.0.0.1 and return the two files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "avow test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    files = folder / "c.pem", folder / "k.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@pytest.mark.clause("ICNLI-14.4.02")
def test_with_a_certificate_it_speaks_tls(tmp_path):
    """A client that checks the certificate gets its answer; plain HTTP gets none."""
    chain, key = certificate(tmp_path)
    tls = {"AVOW_HTTP_TLS_CERTIFICATE": str(chain), "AVOW_HTTP_TLS_KEY": str(key)}
    with serving.server(tmp_path / "d", environment=tls) as served:
        assert served.address.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(chain))
        answer = httpx.get(f"{served.address}/v1/agents", headers=served.headers, verify=trusted)
        assert answer.status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(served.address.replace("https", "http") + "/healthz")


def lines_of(stream, count):
    """Return the first so many entries of a stream of events."""
    found, fields = [], {}
    for line in stream.iter_lines():
        if line == "":
            if "data" in fields:
                found.append(
                    (fields.get("event"), int(fields.get("id", 0)), json.loads(fields["data"]))
                )
            fields = {}
            if len(found) == count:
                return found
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
    return found


def test_events_are_the_journal_as_it_grows(tmp_path):
    """Ids are positions, nothing is left out, and a reader that comes back goes on where it was."""
    with running(tmp_path) as (_, admin):
        size = admin.get("/v1/journal").json()["size"]
        with admin.stream("GET", "/v1/events") as stream:
            for _ in range(3):
                declare(admin, **HARMLESS)
            found = lines_of(stream, 3)
        assert [(event, at) for event, at, _ in found] == [("entry", size + n) for n in (1, 2, 3)]
        assert all(entry["kind"] == "verdict" for _, _, entry in found)
        with admin.stream("GET", "/v1/events", params={"after": 0}) as stream:
            assert [at for _, at, _ in lines_of(stream, 3)] == [1, 2, 3]
        with admin.stream("GET", "/v1/events", headers={"Last-Event-ID": str(size + 1)}) as stream:
            assert [at for _, at, _ in lines_of(stream, 2)] == [size + 2, size + 3]


def test_an_agent_hears_of_its_own_and_a_revoked_one_of_nothing(tmp_path):
    """Others' verdicts do not reach it, and its stream ends soon after its key is revoked."""
    with running(tmp_path) as (_, admin):
        key = {"Authorization": f"Bearer {agent_key(admin, 'agent-1')}"}
        with admin.stream("GET", "/v1/events", headers=key) as stream:
            declare(admin, id="agent-2", **HARMLESS)
            admin.post("/v1/evaluate", content=body(record(**HARMLESS)), headers=key)
            found = lines_of(stream, 1)
            assert found[0][2]["principal"] == "agent-1"
        with admin.stream("GET", "/v1/events", headers=key) as stream:
            admin.delete("/v1/agents/agent-1")
            assert lines_of(stream, 1) == [("closed", 0, {"code": "auth.revoked"})]


@pytest.mark.clause("IRL-6.12")
def test_a_policy_file_that_changes_is_adopted_and_journalled(tmp_path):
    """A good change judges from then on and is journalled; a broken one changes nothing."""
    file = tmp_path / "own.toml"
    file.write_text('extends = "default"\nname = "own"\nversion = "1"\n')
    with running(tmp_path / "d", "--policy", str(file)) as (_, admin):
        staged = {"type": "write", "target_environment": "staging"}
        before = admin.get("/v1/policy").json()
        assert declare(admin, **staged).status_code == 200
        stricter = (
            'extends = "default"\nname = "own"\nversion = "2"\n[[rules]]\nid = "POL-100"\n'
            'slug = "no-staging-writes"\noutcome = "GATE"\nsays = "staging is frozen"\n'
            'hint = "wait"\nwhen = { field = "environment", is = "staging" }\n'
        )
        file.write_text(stricter)
        after = patiently(
            lambda: admin.get("/v1/policy").json(), lambda shown: shown["version"] == "2"
        )
        assert declare(admin, **staged).status_code == 202
        file.write_text("this is = not [ a policy")
        time.sleep(1.5)
        assert admin.get("/v1/policy").json()["version"] == "2"
        adopted = entries(admin, "policy")
        assert [entry["policy"] for entry in adopted] == [before["digest"], after["digest"]]
        assert adopted[1]["replaces"] == before["digest"]


def test_a_question_nobody_answers_expires(tmp_path):
    """Silence rejects: after its time the verdict is expired and cannot be redeemed."""
    with running(tmp_path, environment={"AVOW_GATE_TIMEOUT_S": "10"}) as (_, admin):
        verdict = declare(admin, **GATED).json()["verdict_id"]
        assert admin.get(f"/v1/verdicts/{verdict}").json()["x_state"] == "waiting"
        shown = admin.get(f"/v1/verdicts/{verdict}", params={"wait": 15}).json()
        assert shown["x_state"] == "expired"
        refused = admin.post(f"/v1/verdicts/{verdict}/redeem")
        assert (refused.status_code, refused.json()["code"]) == (410, "verdict.expired")
        assert declare(admin, **GATED).json()["verdict_id"] != verdict


@pytest.mark.clause("IRL-6.03", "ICNLI-12.4.02", "ICNLI-12.5.01")
def test_strangers_verify_what_the_server_hands_out(tmp_path):
    """Export, anchors, keys, receipts and consistency check without any code of the server."""
    with running(tmp_path) as (_, admin):
        early = patiently(
            lambda: admin.get("/v1/journal/checkpoint"), lambda got: got.status_code == 200
        ).text
        made = [declare(admin, **HARMLESS).json() for _ in range(40)]
        keys = admin.get("/v1/journal/keys").text
        receipt = admin.get(f"/v1/journal/receipt/{made[3]['verdict_id']}").text
        checked = receipts.check(receipt, keys=keys)
        assert checked.problems == []
        assert made[3]["verdict_id"] in receipt
        late = patiently(
            lambda: admin.get("/v1/journal/checkpoint").text,
            lambda note: int(note.split("\n")[1]) >= made[-1]["journal"]["position"],
        )
        sizes = [int(note.split("\n")[1]) for note in (early, late)]
        path = admin.get(
            "/v1/journal/proof", params={"first": sizes[0], "second": sizes[1]}
        ).json()["path"]
        assert receipts.check_consistency(early, late, path, keys=keys).problems == []
        export = admin.get("/v1/journal/export").content.splitlines(keepends=True)
    anchors = (tmp_path / "anchor.notes").read_text()
    report = verify(export, anchors=anchors, keys=keys)
    assert (report.problems, report.unanchored) == ([], 0)
    assert report.entries == len(export) - 1
    forged = [line.replace(b"agent-1", b"agent-2") for line in export]
    assert not verify(forged, anchors=anchors, keys=keys).is_good


def test_erasing_a_declaration_keeps_the_journal_verifiable(tmp_path):
    """The text is gone, the chain holds, the erasure is journalled, and it cannot be redeemed."""
    with running(tmp_path) as (_, admin):
        said = declare(admin, stated_goal="a very private goal", **HARMLESS).json()
        position = said["journal"]["position"]
        receipt = admin.get(f"/v1/journal/receipt/{position}").text
        assert "a very private goal" in receipt
        erased = admin.post("/v1/journal/erase", json={"position": position})
        assert erased.status_code == 204
        assert "a very private goal" not in admin.get(f"/v1/journal/receipt/{position}").text
        again = admin.post("/v1/journal/erase", json={"position": position})
        assert again.json()["code"] == "journal.nothing_to_erase"
        refused = admin.post(f"/v1/verdicts/{said['verdict_id']}/redeem")
        assert (refused.status_code, refused.json()["code"]) == (410, "verdict.erased")
        assert entries(admin, "erasure")[0]["entry"] == position
        keys = admin.get("/v1/journal/keys").text
        export = admin.get("/v1/journal/export").content.splitlines(keepends=True)
        assert verify(export, keys=keys).problems == []


@pytest.mark.clause("IRL-5.15")
def test_without_an_anchor_nothing_is_allowed_past_the_tail(tmp_path):
    """Where checkpoints cannot be kept, at most 1,000 entries are accepted, and then 503."""
    blocked = tmp_path / "anchor"
    anchor = {"AVOW_JOURNAL_ANCHOR": str(blocked)}
    with running(tmp_path / "d", environment=anchor) as (_, admin):
        patiently(lambda: admin.get("/readyz").json()["unanchored"], lambda tail: tail == 0)
        kept = blocked.read_bytes()
        blocked.unlink()
        blocked.mkdir()
        statuses = [declare(admin, **HARMLESS).status_code for _ in range(1010)]
        refused = patiently(
            lambda: declare(admin, **HARMLESS), lambda answer: answer.status_code == 503
        )
        assert refused.json()["code"] == "journal.unanchored"
        assert statuses.count(200) <= 1000
        # Not only in number: after some seconds nothing is accepted and the server says so.
        ready = patiently(lambda: admin.get("/readyz"), lambda answer: answer.status_code == 503)
        assert ready.json()["code"] == "journal.unanchored"
        blocked.rmdir()
        blocked.write_bytes(kept)
        patiently(lambda: declare(admin, **HARMLESS).status_code, lambda status: status == 200)
        assert patiently(lambda: admin.get("/readyz").json()["unanchored"], lambda n: n <= 2) <= 2


def test_a_journal_that_was_wound_back_is_not_served(tmp_path):
    """An old copy put back is found by its anchor at the start, and the server refuses."""
    with running(tmp_path) as (served, admin):
        declare(admin, **HARMLESS)
        key = served.key
    shutil.copytree(tmp_path, tmp_path.with_name("old"))
    with running(tmp_path) as (_, admin):
        admin.headers["Authorization"] = f"Bearer {key}"
        assert declare(admin, **HARMLESS).status_code == 200
    for name in ("avow.sqlite", "avow.sqlite-wal", "avow.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path.with_name("old") / "avow.sqlite", tmp_path)
    command = [sys.executable, "-m", "avow", "up", "--port", "0", "--data", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert "journal.rolled_back" in done.stderr


def test_the_first_key_is_shown_once(tmp_path):
    """A second start prints no key; the key is for an admin, and the last admin stays."""
    with running(tmp_path) as (served, admin):
        assert served.key.startswith("avow_")
        assert admin.delete("/v1/people/admin").json()["code"] == "person.last_admin"
    with serving.server(tmp_path) as again:
        assert again.key == ""


def test_a_start_that_fails_makes_no_key(tmp_path):
    """Where the port is taken nothing is begun, so no admin key is lost."""
    with serving.server(tmp_path / "one") as served:
        port = served.address.rsplit(":", 1)[1]
        command = [
            sys.executable,
            "-m",
            "avow",
            "up",
            "--port",
            port,
            "--data",
            str(tmp_path / "two"),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert "address already in use" in done.stderr
        assert not (tmp_path / "two").exists()


@pytest.mark.clause("ICNLI-12.6.01", "ICNLI-12.3.01")
def test_telemetry_that_hangs_slows_nobody(tmp_path):
    """A log nobody reads and a collector that never answers: requests are answered all the same."""
    with socket.create_server(("127.0.0.1", 0)) as collector:
        endpoint = f"http://127.0.0.1:{collector.getsockname()[1]}"
        environment = {"AVOW_TELEMETRY_OTLP_ENDPOINT": endpoint, "AVOW_LOG_LEVEL": "debug"}
        with running(tmp_path, environment=environment, log=subprocess.PIPE) as (_, admin):
            answers = [declare(admin, **HARMLESS).status_code for _ in range(3000)]
            assert set(answers) == {200}
            text = admin.get("/metrics").text
        lost = [line for line in text.splitlines() if line.startswith("avow_telemetry_lost_total{")]
        assert any(float(line.split()[-1]) > 0 for line in lost), lost


@pytest.mark.clause("ICNLI-12.3.01", "ICNLI-14.4.03")
def test_logs_are_json_with_the_trace_and_without_secrets(tmp_path):
    """Each line parses and has a trace id; keys and goals do not occur in any of them."""
    log = tmp_path / "log"
    trace = secrets.token_hex(16)
    with log.open("w") as opened, running(tmp_path / "d", log=opened) as (served, admin):
        headers = {"traceparent": f"00-{trace}-{'1' * 16}-01"}
        goal = "password=hunter2 for bob@example.org"
        sent = body(record(stated_goal=goal, **GATED))
        admin.post("/v1/evaluate", content=sent, headers=headers)
        admin.get("/v1/agents", headers={"Authorization": "Bearer avow_" + "7" * 40})
        key = served.key
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(len(line["trace_id"]) == 32 for line in lines)
    verdicts = [line for line in lines if line["event"] == "verdict"]
    assert [line["trace_id"] for line in verdicts] == [trace]
    assert {"auth.accepted", "auth.refused", "server.started", "server.stopped"} <= {
        line["event"] for line in lines
    }
    text = log.read_text()
    for secret in (key, "hunter2", "bob@example.org", "7" * 40):
        assert secret not in text


@pytest.mark.campaign
@pytest.mark.clause("IRL-5.15")
def test_no_acknowledged_verdict_is_lost_when_the_server_is_killed():
    """Killed again and again under load, every answered verdict is in the journal that verifies."""
    assert server_kills.survive(1, 4) > 10


def test_a_revoked_admin_administers_nothing(tmp_path):
    """Revoked by another process, an admin whose key is still remembered can add nobody."""
    with running(tmp_path) as (_, admin):
        key = admin.post("/v1/people", json={"id": "mallory", "roles": ["admin"]}).json()["key"]
        theirs = {"Authorization": f"Bearer {key}"}
        assert admin.get("/v1/people", headers=theirs).status_code == 200
        command = [sys.executable, "-m", "avow", "people", "revoke", "mallory"]
        done = subprocess.run(
            [*command, "--data", str(tmp_path)], check=False, capture_output=True, timeout=60
        )
        assert done.returncode == 0
        for path, wanted in (
            ("/v1/people", {"id": "sleeper", "roles": ["admin"]}),
            ("/v1/agents", {"id": "sleeper-agent"}),
            ("/v1/journal/erase", {"position": 1}),
        ):
            refused = admin.post(path, json=wanted, headers=theirs)
            assert (refused.status_code, refused.json()["code"]) == (401, "auth.revoked")


def test_a_simulation_knows_of_open_breakers(tmp_path):
    """What would be denied because a breaker is open is simulated so."""
    write = {"type": "write", "target_environment": "local"}
    with running(tmp_path, environment={"AVOW_BREAKER_CHANGE_MOST": "1"}) as (_, admin):
        assert [declare(admin, **write).status_code for _ in range(2)] == [200, 403]
        said = admin.post("/v1/simulate", content=body(record(**write))).json()
        assert said["policy_triggered"] == "POL-910: breaker-open"


def test_one_principal_cannot_take_all_streams(tmp_path):
    """Each principal has so many streams of events, and others still get theirs."""
    with running(tmp_path) as (served, admin), contextlib.ExitStack() as stack:
        key = {"Authorization": f"Bearer {agent_key(admin, 'agent-1')}"}
        client = stack.enter_context(httpx.Client(base_url=served.address, timeout=20))
        for _ in range(8):
            stack.enter_context(client.stream("GET", "/v1/events", headers=key))
        refused = client.get("/v1/events", headers=key)
        assert (refused.status_code, refused.json()["code"]) == (429, "queue.full")
        with admin.stream("GET", "/v1/events", params={"after": 0}) as stream:
            assert lines_of(stream, 1)
