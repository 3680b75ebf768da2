"""The HTTP door: statuses, who may do what, repetitions, and every error as problem+json."""

import itertools
import json
import secrets
import socket
import time

import pytest

from avow.core.codes import CODES
from tests.records import body, record

HARMLESS = {"type": "read", "target_environment": "local"}
CASES = {
    200: [
        {"type": "read", "target_environment": "local"},
        {"type": "write", "target_environment": "staging"},
    ],
    202: [{"type": "write", "target_environment": "production"}],
    403: [{"type": "delete", "target_environment": "production", "reversible": False}],
}
counter = itertools.count()


def declare(client, path="/v1/evaluate", headers=None, **fields):
    return client.post(path, content=body(record(**fields)), headers=headers)


class As:
    """A principal that speaks through the admin's connections with a key of its own."""

    def __init__(self, client, key):
        self._client = client
        self.headers = {"Authorization": f"Bearer {key}"}

    def request(self, method, path, headers=None, **sent):
        return self._client.request(method, path, headers=self.headers | (headers or {}), **sent)

    def get(self, path, **sent):
        return self.request("GET", path, **sent)

    def post(self, path, **sent):
        return self.request("POST", path, **sent)


def register(admin, trust="high", **more):
    """Register an agent; return its id and somebody who speaks as it."""
    name = f"agent-{next(counter)}-{secrets.token_hex(3)}"
    made = admin.post("/v1/agents", json={"id": name, "trust": trust, **more}).json()
    return name, As(admin, made["key"])


def person(admin, *roles):
    """Register a person; return their id and somebody who speaks as them."""
    name = f"person-{next(counter)}-{secrets.token_hex(3)}"
    made = admin.post("/v1/people", json={"id": name, "roles": list(roles)}).json()
    return name, As(admin, made["key"])


@pytest.mark.clause("IRL-5.17", "IRL-6.02", "IRL-5.18")
@pytest.mark.parametrize("path", ["/evaluate", "/v1/evaluate"])
@pytest.mark.parametrize(
    ("status", "fields"), [(status, fields) for status, many in CASES.items() for fields in many]
)
def test_each_decision_has_its_status(admin, path, status, fields):
    """ALLOW and LOG_ALLOW are 200, GATE is 202, DENY is 403; the id resolves to the entry."""
    answer = declare(admin, path, session_id=secrets.token_hex(4), **fields)
    assert answer.status_code == status
    said = answer.json()
    assert {"decision", "risk", "verdict_id"} <= said.keys()
    shown = admin.get(f"/v1/verdicts/{said['verdict_id']}").json()
    assert {key: shown[key] for key in said} == said
    position = said["journal"]["position"]
    entry = admin.get("/v1/journal", params={"after": position - 1, "most": 1}).json()["entries"][0]
    assert entry["body"]["verdict"] == said["verdict_id"]
    assert said["journal"]["hash"] == f"sha256:{entry['hash']}"
    assert entry["body"]["outcome"] == said["decision"]


@pytest.mark.clause("IRL-5.18")
def test_the_same_record_twice_is_two_verdicts(admin):
    """Without a key of the caller's, two evaluations have two ids and two entries."""
    one, other = (declare(admin, **HARMLESS).json() for _ in range(2))
    assert one["verdict_id"] != other["verdict_id"]
    assert one["journal"]["position"] < other["journal"]["position"]
    assert one["x_digest"] == other["x_digest"]


@pytest.mark.clause("IRL-4.01")
def test_simulating_writes_nothing_and_says_the_same(admin):
    """A simulation gives what an evaluation gives, and the journal stays as long as it was."""
    size = admin.get("/v1/journal").json()["size"]
    for fields in itertools.chain.from_iterable(CASES.values()):
        said = declare(admin, "/v1/simulate", session_id="sim", **fields).json()
        assert (said["verdict_id"], said["journal"], said["x_simulated"]) == (None, None, True)
        assert admin.get("/v1/journal").json()["size"] == size
        real = declare(admin, session_id="sim", **fields).json()
        size = admin.get("/v1/journal").json()["size"]
        same = set(real) - {"verdict_id", "timestamp", "journal"}
        assert {key: real[key] for key in same} == {key: said[key] for key in same}


PUBLIC = {"/healthz", "/readyz", "/v1/conformance"}
# Each address with what to send, and which roles may use it; a new address needs a line here.
ANYBODY = {"agent", "auditor", "operator", "approver", "admin"}
PEOPLE = {"auditor", "operator", "approver", "admin"}
DECLARING = {"agent", "operator", "admin"}
MATRIX = {
    ("POST", "/evaluate"): DECLARING,
    ("POST", "/v1/evaluate"): DECLARING,
    ("POST", "/v1/simulate"): DECLARING,
    ("GET", "/v1/verdicts/{verdict_id}"): PEOPLE,
    ("POST", "/v1/verdicts/{verdict_id}/redeem"): set(),
    ("POST", "/v1/verdicts/{verdict_id}/outcome"): set(),
    ("GET", "/v1/agents"): PEOPLE,
    ("POST", "/v1/agents"): {"admin"},
    ("DELETE", "/v1/agents/{agent_id}"): {"admin"},
    ("GET", "/v1/people"): PEOPLE,
    ("POST", "/v1/people"): {"admin"},
    ("DELETE", "/v1/people/{person_id}"): {"admin"},
    ("GET", "/v1/breakers"): PEOPLE,
    ("DELETE", "/v1/breakers/{means}/{agent_id}"): {"admin"},
    ("GET", "/v1/policy"): ANYBODY,
    ("GET", "/v1/journal"): PEOPLE,
    ("GET", "/v1/journal/export"): PEOPLE,
    ("GET", "/v1/journal/checkpoint"): ANYBODY,
    ("GET", "/v1/journal/keys"): ANYBODY,
    ("GET", "/v1/journal/proof"): ANYBODY,
    ("GET", "/v1/journal/receipt/{what}"): PEOPLE,
    ("POST", "/v1/journal/erase"): {"admin"},
    ("GET", "/metrics"): PEOPLE,
}
# Tested apart: it streams for ever.
STREAMS = {("GET", "/v1/events")}


def routes(admin):
    """Return every method and address that the server says it has."""
    described = admin.get("/openapi.json").json()["paths"]
    return {(method.upper(), path) for path, methods in described.items() for method in methods}


def test_every_address_is_in_the_matrix(admin):
    """A new address must say who may use it before it can pass."""
    found = {(method, path.replace(":path", "")) for method, path in routes(admin)}
    open_ones = {(method, path) for method, path in found if path in PUBLIC}
    assert found - open_ones == MATRIX.keys() | STREAMS


@pytest.mark.clause("ICNLI-14.1.01")
def test_without_a_key_nothing_but_health_and_declaration_answers(admin, anonymous):
    """Every other address refuses with 401, as does a key that is not ours or was revoked."""
    name, agent = register(admin)
    admin.delete(f"/v1/agents/{name}")
    strangers = [{}, {"Authorization": f"Bearer avow_{'0' * 40}"}, {"Authorization": "Basic eA=="}]
    strangers += [dict(agent.headers) | {"host": "localhost"}]
    for method, path in routes(admin) | {("GET", "/openapi.json")}:
        for headers in strangers:
            kept = {key: value for key, value in headers.items() if key.lower() == "authorization"}
            status = anonymous.request(method, path, headers=kept).status_code
            assert status == (200 if path in PUBLIC else 401), (method, path)


@pytest.mark.clause("ICNLI-14.2.01")
def test_each_role_may_what_the_table_says(admin):
    """For every address and role: allowed where the table says so, 403 or 404 elsewhere."""
    verdict = declare(admin, **HARMLESS).json()["verdict_id"]
    target, _ = register(admin)
    clients = {role: person(admin, role) for role in sorted(PEOPLE)}
    clients["agent"] = register(admin)
    position = admin.get("/v1/journal").json()["size"]
    admin.get(f"/v1/journal/receipt/{position}")
    for (method, path), allowed in MATRIX.items():
        for role, (name, client) in clients.items():
            filled = path.format(
                verdict_id=verdict, agent_id=target, person_id="nobody", what=position, means="read"
            )
            fields = {**HARMLESS, "id": name}
            sent = (
                {"content": body(record(**fields))} if "e" in path[-4:] and method == "POST" else {}
            )
            if method == "POST" and "evaluate" not in path and "simulate" not in path:
                sent = {"json": BODIES.get(path, {})}
            if path == "/v1/journal/proof":
                sent = {"params": {"first": 1, "second": 2}}
            status = client.request(method, filled, **sent).status_code
            if role in allowed:
                assert status in {200, 201, 202, 204, 404, 409}, (role, method, path, status)
            else:
                assert status in {403, 404}, (role, method, path, status)


BODIES = {
    "/v1/agents": {"id": "taken", "trust": "low"},
    "/v1/people": {"id": "taken-too", "roles": ["auditor"]},
    "/v1/journal/erase": {"position": 1, "field": "nothing"},
    "/v1/verdicts/{verdict_id}/outcome": {"ended": "done"},
}


def test_an_agent_speaks_for_itself_only(admin):
    """Another agent's name in the record is refused; an admin may speak for others."""
    name, agent = register(admin)
    assert declare(agent, id=name, **HARMLESS).status_code == 200
    refused = declare(agent, id="somebody-else", **HARMLESS)
    assert (refused.status_code, refused.json()["code"]) == (403, "agent.mismatch")
    assert declare(admin, id=name, **HARMLESS).status_code == 200


def test_an_agent_sees_its_own_verdicts_only(admin):
    """Somebody else's verdict does not exist for it, however it asks."""
    name, agent = register(admin)
    own = declare(agent, id=name, **HARMLESS).json()["verdict_id"]
    other = declare(admin, **HARMLESS).json()["verdict_id"]
    assert agent.get(f"/v1/verdicts/{own}").status_code == 200
    for path in (f"/v1/verdicts/{other}", f"/v1/journal/receipt/{other}"):
        assert agent.get(path).json()["code"] == "verdict.unknown"
    for path in (f"/v1/verdicts/{other}/redeem", f"/v1/verdicts/{other}/outcome"):
        assert agent.post(path, json={"ended": "done"}).json()["code"] == "verdict.unknown"


@pytest.mark.clause("IRL-2.04", "ICNLI-14.2.01")
def test_trust_is_the_registered_one_until_it_is_revoked(admin):
    """The lower of declared and registered counts; a revoked key declares no more at once."""
    name, agent = register(admin, trust="medium")
    said = declare(agent, id=name, trust_level="high", type="write").json()
    assert said["x_trust"] == "medium"
    assert admin.delete(f"/v1/agents/{name}").status_code == 204
    refused = declare(agent, id=name, **HARMLESS)
    assert (refused.status_code, refused.json()["code"]) == (401, "auth.revoked")
    assert admin.delete(f"/v1/agents/{name}").json()["code"] == "agent.unknown"


def test_a_key_of_the_caller_gives_the_same_verdict(admin):
    """The same key and body give the first answer; another body under that key is a conflict."""
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    first, second = (declare(admin, headers=headers, **HARMLESS).json() for _ in range(2))
    assert first == second
    conflict = declare(admin, headers=headers, type="write")
    assert (conflict.status_code, conflict.json()["code"]) == (409, "idempotency.mismatch")
    bad = declare(admin, headers={"Idempotency-Key": "x" * 201}, **HARMLESS)
    assert (bad.status_code, bad.json()["code"]) == (422, "request.invalid")


def test_an_open_question_is_asked_once(admin):
    """The same declaration in the same session gets the question that is open already."""
    gated = {"type": "write", "target_environment": "production"}
    name, agent = register(admin)
    first = declare(agent, id=name, session_id="s1", **gated)
    again = declare(agent, id=name, session_id="s1", **gated)
    other = declare(agent, id=name, session_id="s2", **gated)
    as_admin = declare(admin, id=name, session_id="s1", **gated)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json()
    ids = {answer.json()["verdict_id"] for answer in (first, other, as_admin)}
    assert len(ids) == 3


@pytest.mark.clause("IRL-1.01")
def test_a_verdict_is_redeemed_once_for_a_signed_permit(admin):
    """An allowed verdict gives one permit; a waiting or denied one gives none."""
    name, agent = register(admin)
    allowed = declare(agent, id=name, **HARMLESS).json()
    first = agent.post(f"/v1/verdicts/{allowed['verdict_id']}/redeem").json()
    assert first["permit"]["digest"] == allowed["x_digest"]
    assert first["permit"]["token"] > allowed["journal"]["position"]
    assert first["permit"]["agent"] == name
    again = agent.post(f"/v1/verdicts/{allowed['verdict_id']}/redeem")
    assert (again.status_code, again.json()["code"]) == (409, "verdict.redeemed")
    assert agent.get(f"/v1/verdicts/{allowed['verdict_id']}").json()["x_state"] == "redeemed"
    for fields, code in (
        (CASES[202][0], "verdict.waiting"),
        (CASES[403][0], "verdict.denied"),
    ):
        verdict = declare(agent, id=name, **fields).json()["verdict_id"]
        assert agent.post(f"/v1/verdicts/{verdict}/redeem").json()["code"] == code
    other = declare(admin, **HARMLESS).json()["verdict_id"]
    assert admin.post(f"/v1/verdicts/{other}/redeem").status_code == 200
    later = agent.post(
        f"/v1/verdicts/{declare(agent, id=name, **HARMLESS).json()['verdict_id']}/redeem"
    )
    assert later.json()["permit"]["token"] > first["permit"]["token"]


def test_a_permit_is_signed_by_the_journals_key(admin):
    """The signature covers the permit, domain separated, by the key that signs checkpoints."""
    from avow.clients import ed25519  # noqa: PLC0415 - the checker of strangers
    from avow.core import canonical  # noqa: PLC0415 - the same

    verdict = declare(admin, **HARMLESS).json()["verdict_id"]
    got = admin.post(f"/v1/verdicts/{verdict}/redeem").json()
    public, value = (bytes.fromhex(got["signature"][key]) for key in ("public", "value"))
    message = b"avow-permit-1\n" + canonical.encode(got["permit"])
    assert ed25519.is_valid(public, message, value)
    assert not ed25519.is_valid(public, message + b" ", value)
    assert got["signature"]["key"] in admin.get("/v1/journal/keys").text


def test_an_outcome_is_told_once(admin):
    """What came of a verdict enters the journal once; its note is kept beside the chain."""
    verdict = declare(admin, **HARMLESS).json()["verdict_id"]
    path = f"/v1/verdicts/{verdict}/outcome"
    told = admin.post(path, json={"ended": "done", "note": "a private note"})
    position = told.json()["position"]
    page = admin.get("/v1/journal", params={"after": position - 1, "most": 1}).json()
    entry = page["entries"][0]["body"]
    assert (entry["kind"], entry["ended"], entry["verdict"]) == ("outcome", "done", verdict)
    assert "a private note" not in json.dumps(page)
    assert admin.post(path, json={"ended": "failed"}).json()["code"] == "verdict.reported"
    for wrong in ({"ended": "perhaps"}, {"ended": "done", "note": "x\0"}, {}, {"ended": 1}):
        other = declare(admin, **HARMLESS).json()["verdict_id"]
        answer = admin.post(f"/v1/verdicts/{other}/outcome", json=wrong)
        assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")


def test_a_verdict_that_waits_is_waited_for(admin):
    """`wait` holds the answer back for as long as it says while the question is open."""
    verdict = declare(admin, session_id=secrets.token_hex(4), **CASES[202][0]).json()["verdict_id"]
    shown = admin.get(f"/v1/verdicts/{verdict}", params={"wait": 0.3}).json()
    assert shown["x_state"] == "waiting"
    assert shown["x_expires"] > shown["timestamp"]
    assert admin.get(f"/v1/verdicts/{verdict}", params={"wait": 61}).status_code == 422


@pytest.mark.clause("IRL-2.21")
@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "declaration.unreadable"),
        (b"{", 400, "declaration.unreadable"),
        (b"[]", 400, "declaration.unknown_dialect"),
        (b'{"a": 1, "a": 2}', 400, "declaration.unreadable"),
        (b'{"irl_version": "0.1"}', 422, "declaration.invalid"),
        (b"x" * 300_000, 400, "declaration.too_large"),
        (rb'{"irl_version": "0.1", "x_a": "\u0000"}', 400, "declaration.unreadable"),
    ],
)
def test_a_bad_body_is_told_everything(admin, content, status, code):
    """Every problem with its path, a stable code, a hint and the trace id; nothing is recorded."""
    size = admin.get("/v1/journal").json()["size"]
    answer = admin.post("/v1/evaluate", content=content)
    said = answer.json()
    assert (answer.status_code, said["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert said["problems"]
    assert said["hint"] == CODES[code].hint
    assert said["trace_id"] == answer.headers["x-trace-id"]
    assert admin.get("/v1/journal").json()["size"] == size


@pytest.mark.clause("ICNLI-12.2.02")
def test_a_trace_that_comes_in_goes_on(admin):
    """The trace id of the caller is kept; one that is no trace id is replaced."""
    trace = secrets.token_hex(16)
    headers = {"traceparent": f"00-{trace}-{'1' * 16}-01"}
    assert admin.get("/healthz", headers=headers).headers["x-trace-id"] == trace
    for bad in ("00-xyz-1-01", f"00-{'0' * 32}-{'1' * 16}-01"):
        got = admin.get("/healthz", headers={"traceparent": bad}).headers["x-trace-id"]
        assert len(got) == 32
        assert got not in bad


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "evil.example"}, "http.host"),
        ({"Host": "127.0.0.1.evil.example:80"}, "http.host"),
        ({"Host": ""}, "http.host"),
        ({"Origin": "http://evil.example"}, "http.origin"),
        ({"Origin": "null"}, "http.origin"),
        ({"Origin": "https://127.0.0.1"}, "http.origin"),
    ],
)
def test_other_hosts_and_origins_are_refused(admin, headers, code):
    """A page elsewhere cannot speak through a browser, and a name pointed at us is not ours."""
    for path in ("/healthz", "/v1/agents"):
        answer = admin.get(path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, code)
    posted = declare(admin, headers=headers, **HARMLESS)
    assert (posted.status_code, posted.json()["code"]) == (403, code)


def test_its_own_origin_may_ask(admin):
    """A page of the server itself is welcome, and every answer carries the safe headers."""
    origin = str(admin.base_url).rstrip("/")
    answer = admin.get("/v1/agents", headers={"Origin": origin})
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_unknown_addresses_and_methods(admin):
    """What is not there is 404, a wrong method 405, both as problems."""
    for method, path, status, code in (
        ("GET", "/nothing", 404, "http.not_found"),
        ("GET", "/v1/evaluate", 405, "http.method"),
        ("PUT", "/v1/agents", 405, "http.method"),
        ("GET", "/v1/verdicts/ver_unknown", 404, "verdict.unknown"),
        ("GET", "/v1/journal/receipt/0", 404, "journal.no_such_entry"),
        ("GET", "/v1/journal/receipt/abc", 404, "journal.no_such_entry"),
        ("GET", "/v1/journal/proof?first=5&second=2", 404, "journal.no_such_entry"),
        ("GET", "/v1/journal?after=-1", 422, "request.invalid"),
        ("DELETE", "/v1/breakers/read/nobody", 404, "breaker.not_open"),
        ("DELETE", "/v1/breakers/dance/nobody", 404, "breaker.not_open"),
        ("DELETE", "/v1/people/nobody", 404, "person.unknown"),
    ):
        answer = admin.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (status, code), path


def test_registering_lists_every_problem(admin):
    """A wrong id, trust, did or role is told at once, and a taken name is a conflict."""
    wrong = admin.post("/v1/agents", json={"id": "a b", "trust": "huge", "did": "did:key:zzz"})
    assert [p["path"] for p in wrong.json()["problems"]] == ["id", "trust", "did"]
    nobody = admin.post("/v1/people", json={"id": "p", "roles": ["agent", "king"]})
    assert [p["path"] for p in nobody.json()["problems"]] == ["roles", "roles"]
    assert admin.post("/v1/people", json={"id": "p", "roles": []}).status_code == 422
    name = f"twice-{secrets.token_hex(3)}"
    assert admin.post("/v1/agents", json={"id": name}).status_code == 201
    assert admin.post("/v1/agents", json={"id": name}).json()["code"] == "agent.exists"
    both = admin.post("/v1/people", json={"id": name, "roles": ["auditor"]})
    assert both.json()["code"] == "person.exists"
    assert admin.post("/v1/agents", json={"id": "admin"}).json()["code"] == "agent.exists"


@pytest.mark.clause("ICNLI-14.1.02")
def test_keys_are_nowhere_but_in_the_one_answer(admin, served):
    """The key of a fresh agent occurs in no file of the server and in no other answer."""
    name = f"keyed-{secrets.token_hex(3)}"
    key = admin.post("/v1/agents", json={"id": name}).json()["key"]
    for path in ("/v1/agents", "/v1/journal?most=1000", "/metrics"):
        assert key not in admin.get(path).text
    for file in served.data.rglob("*"):
        if file.is_file():
            assert key.encode() not in file.read_bytes()
            assert served.key.encode() not in file.read_bytes()


def test_the_description_names_the_record_and_the_problems(admin):
    """OpenAPI has the hot addresses with the record's own schema, and the shape of errors."""
    described = admin.get("/openapi.json").json()
    hot = described["paths"]["/v1/evaluate"]["post"]
    reference = hot["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    record_schema = described["components"]["schemas"][reference.rsplit("/", 1)[1]]
    assert "operation" in record_schema["properties"]
    assert {"200", "202", "403", "503"} <= hot["responses"].keys()
    text = json.dumps(described)
    for reference in set(json.dumps(described).split('"$ref": "')[1:]):
        target = reference.split('"')[0]
        assert target.startswith("#/components/schemas/"), target
        assert target.rsplit("/", 1)[1] in described["components"]["schemas"], target
    assert text


@pytest.mark.clause("ICNLI-12.1.02")
def test_metrics_name_nobody(admin):
    """Agents, resources and goals leave no trace in the metrics."""
    name, agent = register(admin)
    declare(agent, id=name, target_resource="volume:very-secret", stated_goal="tell bob@x.org")
    text = admin.get("/metrics").text
    assert 'avow_verdicts_total{channel="http",dialect="irl",outcome="ALLOW"}' in text
    for secret in (name, "very-secret", "bob@x.org"):
        assert secret not in text


def test_the_policy_in_force_can_be_read(admin):
    """Whoever asks sees the rules that judge."""
    shown = admin.get("/v1/policy").json()
    assert (shown["name"], shown["relaxes"]) == ("default", [])
    assert any(rule["id"] == "POL-003" for rule in shown["source"]["rules"])


def raw(served, *parts):
    """Send bytes as they are and return the status line that comes back, if any."""
    host, port = served.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        return connection.recv(4096).split(b"\r\n")[0]


def test_heads_and_bodies_are_bounded(admin, served):
    """A head or a body beyond its bound is refused, on whatever address, and the server lives on."""
    long = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n"
    assert b" 400 " in raw(served, long)
    many = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 100) for n in range(2000))
    assert b" 400 " in raw(served, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + many + b"\r\n")
    assert b" 400 " in raw(served, b"this is not HTTP\r\n\r\n")
    huge = {"id": "x", "trust": "y" * 400_000}
    answer = admin.post("/v1/agents", json=huge)
    assert (answer.status_code, answer.json()["code"]) == (400, "request.unreadable")
    assert admin.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["//v1/evaluate", "/v1/evaluate/", "/v1/./evaluate", "/V1/evaluate", "/x/../v1/evaluate"],
)
def test_other_spellings_of_an_address_are_not_it(served, path):
    """What is not exactly the address is nothing."""
    sent = body(record(**HARMLESS))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.key}\r\n"
        f"Content-Length: {len(sent)}\r\n\r\n"
    )
    assert b" 404 " in raw(served, head.encode(), sent)


def test_positions_beyond_the_end_are_simply_empty(admin):
    """A page, an export or a stream behind the end of the journal gives nothing and no fault."""
    page = admin.get("/v1/journal", params={"after": 10**9})
    assert (page.status_code, page.json()["entries"]) == (200, [])
    assert admin.get("/v1/journal/export", params={"after": 10**9}).text.count("\n") == 1


def test_a_repeated_question_uses_up_its_key(admin):
    """A key sent with a repetition of an open question belongs to that declaration from then on."""
    gated = {**CASES[202][0], "session_id": secrets.token_hex(4)}
    first = declare(admin, **gated).json()
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    assert declare(admin, headers=headers, **gated).json() == first
    other = declare(admin, headers=headers, **HARMLESS)
    assert other.json()["code"] == "idempotency.mismatch"


def test_nobody_is_read_before_they_are_known(anonymous):
    """A body from nobody is not even looked at: 401, whatever it holds."""
    for content in (b"{", b'{"id": 1}', b""):
        assert anonymous.post("/v1/agents", content=content).status_code == 401


def test_odd_names_in_addresses_are_unknown(admin, served):
    """A NUL or another impossible id is not found, and harms nobody."""
    for path in ("/v1/verdicts/%00", "/v1/verdicts/ver_%00/outcome", "/v1/agents/%00"):
        method = "POST" if path.endswith("outcome") else "GET" if "verdicts" in path else "DELETE"
        answer = admin.request(method, path, json={"ended": "done"})
        assert answer.status_code == 404, path
    twice = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"
    assert b" 400 " in raw(served, twice.encode())


def test_names_of_our_own_are_taken(admin):
    """Nobody can register as what the journal calls Avow's own doing."""
    for name in ("console", "file"):
        assert admin.post("/v1/agents", json={"id": name}).status_code == 422


def test_a_head_without_an_end_is_cut_off(served):
    """One header that never ends is refused after its bound, not gathered."""
    host, port = served.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        with pytest.raises(OSError):  # noqa: PT011 - whichever way the system says it is closed
            drip(connection)


def drip(connection):
    """Send more and more, until somebody objects."""
    for _ in range(200):
        connection.sendall(b"x" * 65_536)
        time.sleep(0.01)
