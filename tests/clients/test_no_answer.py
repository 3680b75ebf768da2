"""The client against a server that misbehaves: whatever goes wrong, nothing is allowed."""

import asyncio
import json
import logging
import traceback

import httpx
import pytest

import avow
from avow.clients.calls import Calls
from tests.clients.fakes import ANSWER, KEY, KINDS, Fake, Reply, answer, problem
from tests.records import record


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Ask again at once; how often is what is tested."""
    monkeypatch.setattr("avow.clients.conversation._PAUSES_S", (0.0, 0.0))


@pytest.fixture(params=KINDS)
def client_of(request):
    """Open a client of either kind, and close it after."""
    opened = []

    def make(url, **options):
        opened.append(KINDS[request.param](url, KEY, **options))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


HTML = Reply(200, b"<html>welcome</html>", "text/html")
NOT_ANSWERS = {
    "a page of a proxy": HTML,
    "a page that calls itself JSON": HTML._replace(kind="application/json"),
    "an error page": Reply(502, b"<html>", "text/html"),
    "nothing": Reply(200, b""),
    "no body and no type": Reply(204, b"", ""),
    "half an answer": Reply(200, json.dumps(ANSWER).encode()[:-20]),
    "a connection lost inside the answer": answer()._replace(missing=9),
    "a list": Reply(200, b"[]"),
    "an empty object": Reply(200, b"{}"),
    "another type": answer()._replace(kind="text/plain"),
    "not UTF-8": Reply(200, b'{"decision": "\xff"}'),
    "an unknown word": answer(decision="SURE"),
    "no word": answer(decision=None),
    "allowed, with the status of a denial": answer(403),
    "denied, with the status of an allowance": answer(decision="DENY"),
    "a question, with the status of an allowance": answer(decision="GATE", requires_human=True),
    "allowed, and a human is asked": answer(requires_human=True),
    "no entry in the journal": answer(journal=None),
    "a position that is none": answer(journal={"position": True, "hash": "x"}),
    "no id": answer(verdict_id=""),
    "only simulated": answer(x_simulated=True, journal=None),
    "a score beyond its bounds": answer(risk=ANSWER["risk"] | {"score": 101}),
    "a score that is no number": answer(risk=ANSWER["risk"] | {"score": True}),
    "an unknown level": answer(risk=ANSWER["risk"] | {"level": "fine"}),
    "a finding that is none": answer(findings=[{"id": "POL-1"}]),
    "a member twice": Reply(
        200, json.dumps(ANSWER | {"decision": "DENY"}).encode()[:-1] + b',"decision":"ALLOW"}'
    ),
    "too deep": Reply(200, b"[" * 100_000),
    "a problem that is none": Reply(403, b"{}", "application/problem+json"),
    "a problem that is a list": Reply(403, b"[]", "application/problem+json"),
    "a problem whose code is a number": problem(403, 7),
    "a denial that is a page": Reply(403, b"<html>", "text/html"),
}


@pytest.mark.parametrize("reply", NOT_ANSWERS.values(), ids=NOT_ANSWERS)
def test_what_is_not_an_answer_allows_nothing(client_of, reply):
    """Pages, halves and contradictions are one fault, whatever they claim."""
    with Fake(reply) as fake, pytest.raises(avow.FaultError) as caught:
        client_of(fake.url).evaluate(record())
    assert caught.value.code == "client.no_answer"
    assert "nothing was allowed" in str(caught.value)


def test_the_answer_the_others_were_made_from_is_one(client_of):
    """Unchanged, the answer behind the cases above is read and allows."""
    with Fake(answer()) as fake:
        read = client_of(fake.url).evaluate(record())
    assert (read.outcome, read.allowed, read.journal.position) == (avow.Outcome.ALLOW, True, 7)


def test_nobody_there_and_nobody_speaking(client_of):
    """A closed port and a silent server are the same fault, and the silent one is not asked twice."""
    with Fake(Reply(hold=True)) as fake:
        with pytest.raises(avow.FaultError) as silent:
            client_of(fake.url, timeout_s=0.2).evaluate(record())
        assert len(fake.seen) == 1
    with pytest.raises(avow.FaultError) as closed:
        client_of(fake.url).evaluate(record())
    assert silent.value.code == closed.value.code == "client.no_answer"
    assert silent.value.__notes__ == ["the server was silent for too long"]
    assert closed.value.__notes__ == ["the connection failed or broke off"]


@pytest.mark.parametrize(
    "first",
    [
        Reply(drop=True),
        answer()._replace(missing=5),
        problem(503, "store.unavailable"),
        Reply(503, b"<html>", "text/html"),
        problem(429, "rate.limited", headers={"Retry-After": "0"}),
    ],
    ids=["dropped", "cut off", "unavailable", "proxy", "too fast"],
)
def test_a_repetition_has_the_same_key_and_the_same_bytes(client_of, first):
    """What is asked again is the same question under the same key, so it is judged once."""
    key = avow.SigningKey.generate()
    with Fake(first, answer()) as fake:
        assert client_of(fake.url, signing_key=key).evaluate(record()).allowed
    one, other = fake.seen
    assert len(one.headers["Idempotency-Key"]) == 32
    assert one.headers["Idempotency-Key"] == other.headers["Idempotency-Key"]
    assert one.body == other.body


def test_two_declarations_have_two_keys(client_of):
    """Without a key of the caller's every call has a fresh one; with one that one is sent."""
    with Fake(answer()) as fake:
        client = client_of(fake.url)
        client.evaluate(record())
        client.evaluate(record())
        client.evaluate(record(), idempotency_key="mine")
    sent = [seen.headers["Idempotency-Key"] for seen in fake.seen]
    assert len(set(sent)) == 3
    assert sent[2] == "mine"


def test_it_gives_up_after_three_tries(client_of):
    """A server that stays unavailable is asked three times, and its own error is told."""
    with Fake(problem(503, "journal.unanchored", incident="inc_1")) as fake:
        with pytest.raises(avow.FaultError) as caught:
            client_of(fake.url).evaluate(record())
        assert len(fake.seen) == 3
    assert (caught.value.code, caught.value.incident) == ("journal.unanchored", "inc_1")


@pytest.mark.parametrize("given", ["3", "soon", ""])
def test_a_long_wait_is_the_callers_to_choose(client_of, given):
    """Beyond two seconds, or without a time, a caller that is too fast is told so at once."""
    headers = {"Retry-After": given} if given else {}
    with Fake(problem(429, "rate.limited", headers=headers)) as fake:
        with pytest.raises(avow.RefusedError) as caught:
            client_of(fake.url).evaluate(record())
        assert len(fake.seen) == 1
    assert caught.value.retry_after_ms == (3000 if given == "3" else 0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("redeem", ["v"]), ("outcome", ["v", "done"]), ("add_agent", ["a"]), ("simulate", [{}])],
)
def test_nothing_else_is_asked_twice(client_of, name, arguments):
    """Only a declaration has a key that makes repeating safe."""
    with Fake(Reply(drop=True)) as fake:
        with pytest.raises(avow.FaultError):
            getattr(client_of(fake.url), name)(*arguments)
        assert len(fake.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(client_of, status):
    """The key is sent to the address it was given for and to no other."""
    with Fake(answer()) as elsewhere:
        moved = Reply(status, b"", headers=(("Location", f"{elsewhere.url}/v1/evaluate"),))
        with Fake(moved) as fake, pytest.raises(avow.FaultError):
            client_of(fake.url).evaluate(record())
        assert elsewhere.seen == []
    assert len(fake.seen) == 1


def test_no_proxy_is_taken_from_the_environment(client_of, monkeypatch):
    """A variable of the environment does not lead the key to somebody else."""
    with Fake(answer()) as proxy, Fake(answer()) as fake:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        client_of(fake.url).evaluate(record())
        assert (len(fake.seen), proxy.seen) == (1, [])


ERRORS = [
    (400, "declaration.empty", avow.MalformedError, "declaration.empty"),
    (401, "auth.revoked", avow.RefusedError, "auth.revoked"),
    (409, "signature.replayed", avow.ConflictError, "signature.replayed"),
    (503, "policy.none_in_force", avow.FaultError, "policy.none_in_force"),
    (422, "later.shape", avow.MalformedError, "declaration.invalid"),
    (403, "later.right", avow.RefusedError, "auth.forbidden"),
    (409, "later.clash", avow.ConflictError, "policy.superseded"),
    (500, "later.fault", avow.FaultError, "fault.internal"),
    (418, "later.tea", avow.FaultError, "fault.internal"),
]


@pytest.mark.parametrize(("status", "code", "kind", "read"), ERRORS)
def test_errors_come_by_code_and_unknown_ones_by_status(client_of, status, code, kind, read):
    """Each family is its exception; a code of a later version is the nearest of its status."""
    with Fake(problem(status, code)) as fake, pytest.raises(kind) as caught:
        client_of(fake.url).simulate(record())
    assert caught.value.code == read
    assert caught.value.hint
    if kind is not avow.FaultError:
        assert "told" in str(caught.value)
        assert (code in str(caught.value)) == (code != read)


def test_problems_keep_their_paths(client_of):
    """Every problem comes with path, code and message; an unknown code gets one with a hint."""
    listed = [
        {"path": "a.b", "code": "field.missing", "message": "is required"},
        {"path": "c", "code": "field.later", "message": "odd"},
    ]
    reply = problem(422, "declaration.invalid", problems=listed)
    with Fake(reply) as fake, pytest.raises(avow.MalformedError) as caught:
        client_of(fake.url).evaluate(record())
    found = caught.value.problems
    assert [(one.path, one.message) for one in found] == [("a.b", "is required"), ("c", "odd")]
    assert all(one.hint for one in found)


def event(number, name="entry", **data):
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


def stream(*parts):
    return Reply(200, b"retry: 2000\n\n: alive\n\n" + b"".join(parts), "text/event-stream")


def test_a_stream_that_drops_is_taken_up_where_it_stopped(client_of):
    """After a drop inside an event the rest is asked for behind the last whole one."""
    cut = stream(event(4, n=4), event(6, n=6), event(7, n=7)[:-9])._replace(missing=50)
    with Fake(cut, Reply(drop=True), problem(503, "x"), stream(event(7, n=7))) as fake:
        events = client_of(fake.url).events(after=3)
        assert [next(events) for _ in range(3)] == [(n, {"n": n}) for n in (4, 6, 7)]
        events.close()
    behind = [seen.headers["Last-Event-ID"] for seen in fake.seen]
    assert behind == ["3", "6", "6", "6"]


@pytest.mark.parametrize(
    ("part", "kind", "code"),
    [
        (event(9, "closed", code="auth.revoked"), avow.RefusedError, "auth.revoked"),
        (event(9, "closed", code="later"), avow.FaultError, "client.no_answer"),
        (event(3, n=3), avow.FaultError, "client.no_answer"),
        (event("x", n=3), avow.FaultError, "client.no_answer"),
        (b"id: 9\nevent: entry\ndata: [1]\n\n", avow.FaultError, "client.no_answer"),
    ],
    ids=["revoked", "unknown", "backwards", "no position", "no entry"],
)
def test_a_stream_can_end_in_an_error(client_of, part, kind, code):
    """A revoked key and a stream that goes backwards end it; other kinds of event are passed over."""
    with Fake(stream(event(4, n=4), event(5, "news"), part)) as fake:
        events = client_of(fake.url).events(after=3)
        assert next(events)[0] == 4
        with pytest.raises(kind) as caught:
            next(events)
    assert caught.value.code == code


def test_a_stream_that_stays_away_is_given_up(client_of, monkeypatch):
    """After several times without a sign of life the stream is a fault; a refusal ends it at once."""
    monkeypatch.setattr("avow.clients.streams._RESUME_S", (0.0, 0.0))
    with Fake(Reply(drop=True)) as fake:
        with pytest.raises(avow.FaultError) as caught:
            next(client_of(fake.url).events())
        assert len(fake.seen) == 3
    assert caught.value.code == "client.no_answer"
    with Fake(problem(401, "auth.unknown")) as fake:
        with pytest.raises(avow.RefusedError):
            next(client_of(fake.url).events())
        assert len(fake.seen) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"avow-journal-export-1 o\n1 a {}\n2 b", "text/plain"),
        Reply(200, b"avow-journal-export-1 o\n1 a {}\n", "text/plain", missing=5),
        Reply(200, b"", "text/plain"),
        Reply(200, b"hello\n", "text/plain"),
        HTML,
        Reply(drop=True),
    ],
    ids=["half a line", "cut off", "empty", "something else", "a page", "dropped"],
)
def test_an_export_is_whole_or_an_error(client_of, reply):
    """A part of a journal does not pass for all of it."""
    with Fake(reply) as fake, pytest.raises(avow.FaultError) as caught:
        list(client_of(fake.url).export_journal())
    assert caught.value.code == "client.no_answer"


def test_lines_of_an_export_end_with_a_line_feed_only(client_of):
    """Other line breaks inside an entry do not break its line."""
    lines = [b"avow-journal-export-1 o\n", '1 a {"x":"\u2028\x85\x0b"}\n'.encode()]
    with Fake(Reply(200, b"".join(lines), "text/plain")) as fake:
        assert list(client_of(fake.url).export_journal()) == lines


def test_the_key_appears_nowhere(client_of, caplog):
    """Neither a representation, an error with all it carries, nor a log shows the key."""
    caplog.set_level(logging.DEBUG)
    told = []
    for reply in (
        Reply(drop=True),
        HTML,
        problem(401, "auth.unknown"),
        answer()._replace(missing=3),
    ):
        with Fake(reply) as fake:
            client = client_of(fake.url)
            told.append(repr(client))
            with pytest.raises(avow.AvowError) as caught:
                client.evaluate(record())
            assert fake.seen[0].headers["Authorization"] == f"Bearer {KEY}"
        error = caught.value
        told += traceback.format_exception(error)
        told += [repr(error), repr(vars(error)), repr(error.__cause__), repr(error.__context__)]
        assert error.__context__ is None
    assert KEY not in "".join(told) + caplog.text
    assert "********" in told[0]


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("127.0.0.1:8800", KEY),
        ("ftp://127.0.0.1", KEY),
        ("http://", KEY),
        ("http://admin:hunter2@127.0.0.1", KEY),
        ("http://127.0.0.1:port", KEY),
        ("http://127.0.0.1/?key=hunter2", KEY),
        ("http://127.0.0.1", ""),
        ("http://127.0.0.1", "hunter2 two"),
        ("http://127.0.0.1", "hunter2\r\nX: y"),
        ("http://127.0.0.1", "hunter2é"),
    ],
)
def test_a_client_cannot_be_pointed_anywhere(url, key):
    """An address or a key that is none is refused at once, and not quoted."""
    for kind in (avow.Client, avow.AsyncClient):
        with pytest.raises(avow.MalformedError) as caught:
            kind(url, key)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("odd", [{"x": {1}}, {"x": b"y"}, "\ud800", 3.5j])
@pytest.mark.parametrize("signing_key", [None, avow.SigningKey.from_secret(bytes(32))])
def test_what_json_has_no_form_for_is_not_sent(client_of, odd, signing_key):
    """A record without a form is malformed before anybody is asked."""
    with Fake(answer()) as fake, pytest.raises(avow.MalformedError):
        client_of(fake.url, signing_key=signing_key).evaluate(odd)
    assert fake.seen == []


@pytest.mark.parametrize("odd", ["", "a\nb", "é", "x" * 201])
def test_a_key_of_repetition_is_checked_before_it_is_sent(client_of, odd):
    """A header that cannot be sent, or that the server would refuse, is malformed at once."""
    with Fake(answer()) as fake, pytest.raises(avow.MalformedError, match="idempotency_key"):
        client_of(fake.url).evaluate(record(), idempotency_key=odd)
    assert fake.seen == []


def test_names_stay_one_part_of_the_address(client_of):
    """A name with slashes, dots or question marks cannot lead to another address."""
    with Fake(problem(404, "agent.unknown")) as fake:
        client = client_of(fake.url)
        for name in ("a/../../people/b", "a?b#c", "ä b"):
            with pytest.raises(avow.RefusedError):
                client.revoke_agent(name)
        with pytest.raises(avow.MalformedError):
            client.revoke_agent("\ud800")
    assert [seen.path for seen in fake.seen] == [
        "/v1/agents/a%2F..%2F..%2Fpeople%2Fb",
        "/v1/agents/a%3Fb%23c",
        "/v1/agents/%C3%A4%20b",
    ]


PERMIT = {
    "verdict": "ver_2",
    "digest": "d",
    "agent": "a",
    "principal": "p",
    "token": 8,
    "issued_ms": 1,
    "expires_ms": 2,
}
AGENT = {"id": "a", "trust": "low", "did": None, "added": "now", "revoked": None, "key": "k"}


def told(status, value):
    return Reply(status, json.dumps(value).encode())


@pytest.mark.parametrize(
    ("name", "arguments", "good", "bad"),
    [
        (
            "verdict",
            ["ver_1"],
            answer(x_state="allowed"),
            answer(verdict_id="v", x_state="allowed"),
        ),
        ("verdict", ["ver_1"], answer(x_state="lapsed"), answer()),
        ("redeem", ["ver_2"], told(200, {"permit": PERMIT}), told(200, {"permit": {}})),
        (
            "redeem",
            ["ver_2"],
            told(200, {"permit": PERMIT}),
            told(200, {"permit": PERMIT | {"verdict": "ver_3"}}),
        ),
        ("simulate", [{}], answer(x_simulated=True, journal=None), answer()),
        ("add_agent", ["a"], told(201, AGENT), told(201, AGENT | {"key": ""})),
        ("agents", [], told(200, [AGENT]), told(200, [AGENT | {"trust": 3}])),
        ("revoke_agent", ["a"], Reply(204, kind=""), told(200, {})),
        ("policy", [], told(200, {"name": "default"}), told(200, ["default"])),
        ("keys", [], Reply(200, b"ring", "text/plain"), Reply(200, b"\xff", "text/plain")),
    ],
)
def test_what_is_asked_for_is_what_is_read(client_of, name, arguments, good, bad):
    """Of the verdict, the permit or the list that was asked for only the right one is an answer."""
    with Fake(good, bad) as fake:
        client = client_of(fake.url)
        getattr(client, name)(*arguments)
        with pytest.raises(avow.FaultError) as caught:
            getattr(client, name)(*arguments)
    assert caught.value.code == "client.no_answer"


@pytest.mark.parametrize("state", ["redeemed", "lapsed", "later"])
def test_what_was_allowed_once_is_not_allowed_for_ever(client_of, state):
    """A verdict that was redeemed, has lapsed or stands nobody knows where allows nothing."""
    with Fake(answer(x_state=state)) as fake:
        read = client_of(fake.url).verdict("ver_1")
    assert (read.outcome, read.state, read.allowed) == (avow.Outcome.ALLOW, state, False)


def test_an_answer_has_no_truth_value(client_of):
    """`if answer:` raises, so that a denial cannot pass; nor can an answer be changed."""
    with Fake(answer(403, decision="DENY")) as fake:
        read = client_of(fake.url).evaluate(record())
    with pytest.raises(TypeError, match=r"answer\.allowed"):
        bool(read)
    with pytest.raises(AttributeError):
        read.outcome = avow.Outcome.ALLOW
    assert read.allowed is False


def test_both_clients_have_every_call():
    """Each described call is a method of both clients, under its own name and words."""
    described = {name for name in vars(Calls) if not name.startswith("_")}
    assert len(described) == 23
    for kind in (avow.Client, avow.AsyncClient):
        assert described <= vars(kind).keys()
        for name in described:
            assert getattr(kind, name).__doc__ == getattr(Calls, name).__doc__


def test_an_asynchronous_client_is_closed_by_its_block():
    """After `async with` nothing can be sent any more; the same holds for `with`."""

    async def used():
        async with avow.AsyncClient("http://127.0.0.1:1", KEY) as client:
            pass
        await client.agents()

    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(used())
    with avow.Client("http://127.0.0.1:1", KEY) as client:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        client.agents()


def test_a_transport_of_ones_own():
    """What httpx can be given for certificates and proxies is handed on."""
    seen = []

    def play(asked):
        seen.append(asked.url.host)
        return httpx.Response(200, json=ANSWER)

    with avow.Client("https://avow.example", KEY, transport=httpx.MockTransport(play)) as client:
        assert client.evaluate(record()).allowed
    assert seen == ["avow.example"]
