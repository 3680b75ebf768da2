"""The command line on a store: agents, people, the journal and its keys, the doctor."""

import base64
import json
import re
import shutil
import subprocess
import sys
import time

import httpx
import pytest

from avow.adapters.signing.signer import Ed25519Signer
from avow.core import did
from tests import offices, serving
from tests.offices import avow
from tests.records import body, record

KEY = re.compile(r"avow_[0-9a-f]{40}")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Have a server fill a folder once."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    offices.fill(folder, 20)
    return folder


@pytest.fixture
def data(template, tmp_path):
    """Give a copy of the filled folder."""
    return shutil.copytree(template, tmp_path / "data")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Run a server whose log is kept."""
    folder = tmp_path_factory.mktemp("running")
    with (folder / "log").open("w") as log, serving.server(folder / "data", log=log) as served:
        yield served


@pytest.fixture
def alone(tmp_path):
    """Run a server for one test, whose keys will change."""
    with serving.server(tmp_path / "data") as served:
        yield served


@pytest.mark.parametrize(
    "command",
    [
        ("agents", "add"), ("agents", "list"), ("agents", "revoke"),
        ("people", "add"), ("people", "list"), ("people", "revoke"),
        ("journal", "verify"), ("journal", "export"), ("journal", "receipt"), ("journal", "tail"),
        ("journal", "rotate"), ("journal", "erase"), ("backup",), ("restore",), ("doctor",),
    ],
)  # fmt: skip
def test_every_command_has_an_example_and_json(command):
    """The help of each command shows an example, where the store is named, and `--json`."""
    called = avow(*command, "--help")
    assert called.code == 0
    for text in ("Example:", "--json", "--data", "--store"):
        assert text in called.out


def test_agents_from_first_to_last(tmp_path):
    """An agent is added with a key, listed without it, revoked, and stays listed as that."""
    place = ("--data", tmp_path / "data")
    assert avow("agents", "list", *place).code == 2
    assert avow("people", "add", "maria", "--role", "admin", *place).code == 0
    empty = avow("agents", "list", *place)
    assert (empty.code, empty.out) == (
        0,
        "No agent is registered yet. Add the first: `avow agents add NAME`\n",
    )
    identity = did.of(Ed25519Signer("x", b"k" * 32).public_key)
    added = avow("agents", "add", "bot", "--trust", "high", "--did", identity, *place)
    assert added.code == 0
    assert "shown this once" in added.out
    assert len(KEY.findall(added.out)) == 1
    value = avow("agents", "add", "other", "--json", *place).value
    assert value.keys() == {"id", "trust", "did", "added", "revoked", "key"}
    assert (value["id"], value["trust"], value["did"]) == ("other", "low", None)
    assert avow("agents", "revoke", "other", *place).code == 0
    listed = avow("agents", "list", "--json", *place).value
    assert [(one["id"], one["trust"], one["revoked"] is None) for one in listed] == [
        ("bot", "high", True),
        ("other", "low", False),
    ]
    assert listed[0]["did"] == identity
    shown = avow("agents", "list", *place).out
    assert "revoked" in shown
    assert not KEY.search(shown + json.dumps(listed))


def test_people_from_first_to_last(tmp_path):
    """A person has roles, the last admin stays, and an empty house says how to begin."""
    place = ("--data", tmp_path / "data")
    assert avow("agents", "add", "bot", *place).code == 0
    assert "avow people add NAME --role admin" in avow("people", "list", *place).out
    roles = ("--role", "admin", "--role", "auditor")
    value = avow("people", "add", "maria", *roles, "--json", *place).value
    assert value.keys() == {"id", "roles", "added", "revoked", "key"}
    assert value["roles"] == ["admin", "auditor"]
    assert KEY.fullmatch(value["key"])
    last = avow("people", "revoke", "maria", "--json", *place)
    assert (last.code, last.value["code"]) == (4, "person.last_admin")
    assert avow("people", "add", "jo", "--role", "admin", *place).code == 0
    assert avow("people", "revoke", "maria", "--json", *place).value["state"] == "revoked"
    shown = avow("people", "list", *place).out
    assert "revoked" in shown
    assert "admin, auditor" in shown


@pytest.mark.parametrize(
    ("command", "code", "named"),
    [
        (("agents", "add", "a b"), 2, "registration.invalid"),
        (("agents", "add", "x", "--trust", "root"), 2, "registration.invalid"),
        (("agents", "add", "x", "--did", "did:web:x"), 2, "registration.invalid"),
        (("agents", "add", "admin"), 4, "agent.exists"),
        (("agents", "revoke", "nobody"), 3, "agent.unknown"),
        (("people", "add", "x"), 2, "registration.invalid"),
        (("people", "add", "x", "--role", "agent"), 2, "registration.invalid"),
        (("people", "add", "admin", "--role", "admin"), 4, "person.exists"),
        (("people", "revoke", "nobody"), 3, "person.unknown"),
        (("people", "revoke", "admin"), 4, "person.last_admin"),
        (("journal", "receipt", "999"), 3, "journal.no_such_entry"),
        (("journal", "receipt", "x"), 3, "journal.no_such_entry"),
        (("journal", "receipt", "ver_nothing"), 3, "verdict.unknown"),
        (("journal", "receipt", "--check", "nowhere"), 2, "input.unreadable"),
        (("journal", "verify", "--file", "nowhere"), 2, "input.unreadable"),
        (("journal", "verify", "--anchor", "nowhere"), 2, "input.unreadable"),
        (("journal", "export", "--out", "no/where"), 2, "input.unreadable"),
        (("journal", "erase", "1"), 3, "journal.nothing_to_erase"),
        (("journal", "erase", "8", "--field", "x"), 3, "journal.nothing_to_erase"),
        (("restore", "nowhere", "--store", "sqlite"), 2, "backup.not_empty"),
        (("backup", "tests"), 2, "backup.not_empty"),
        (("agents", "list", "--store", "postgresql://127.0.0.1:1/x"), 5, "store.unavailable"),
    ],
)
def test_errors(data, command, code, named):
    """Each mistake has its exit code and its stable code, for people and for programs."""
    before = avow("journal", "verify", "--data", data, "--json").value["entries"]
    called = avow(*command, "--data", data, "--json")
    assert (called.code, called.value["code"]) == (code, named)
    assert called.value["hint"]
    told = avow(*command, "--data", data)
    assert (told.code, told.out) == (code, "")
    assert named in told.err
    assert avow("journal", "verify", "--data", data, "--json").value["entries"] == before


@pytest.mark.parametrize(
    "command",
    [
        ("journal", "receipt"),
        ("journal", "receipt", "1", "--check", "x"),
        ("journal", "export", "--json"),
        ("journal", "export", "--after", "-1"),
        ("journal", "tail", "-n", "-1"),
        ("journal", "erase", "0"),
        ("journal", "nothing"),
        ("agents", "add"),
        ("backup",),
    ],
)
def test_mistakes_on_the_command_line(data, command):
    """A wrong call exits with 2 and points to the help."""
    called = avow(*command, *(() if command[-1] == "nothing" else ("--data", data)))
    assert called.code == 2
    assert called.err.startswith("error usage: ")


@pytest.mark.clause("ICNLI-14.1.02")
def test_a_key_is_kept_nowhere(data):
    """No file of the data folder holds a key that was handed out, in no letter case."""
    made = avow("agents", "add", "bot", "--json", "--data", data).value["key"]
    other = avow("people", "add", "jo", "--role", "auditor", "--json", "--data", data).value["key"]
    assert avow("journal", "rotate", "--data", data).code == 0
    kept = b"".join(path.read_bytes() for path in data.iterdir()).lower()
    assert b"bot" in kept
    for key in (made, other):
        assert key.removeprefix("avow_").encode() not in kept
        assert bytes.fromhex(key.removeprefix("avow_")) not in kept


def test_agents_while_a_server_runs(running):
    """A key made on the command line works at once at the server, and not once it is revoked."""
    place = ("--data", running.data)
    key = avow("agents", "add", "agent-1", "--json", *place).value["key"]
    with httpx.Client(base_url=running.address, timeout=20) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        assert client.post("/v1/evaluate", content=body(record())).status_code == 200
        assert avow("agents", "revoke", "agent-1", *place).code == 0
        again = client.post("/v1/evaluate", content=body(record()))
    assert again.status_code == 401
    assert avow("journal", "verify", *place).code == 0
    kinds = [json.loads(line)["body"]["kind"] for line in tail(*place)]
    assert kinds[-3:] == ["agent", "verdict", "agent"]
    log = (running.data.parent / "log").read_text()
    assert "server.started" in log
    assert not KEY.search(log)


def test_a_restart_counts_nothing_twice(tmp_path):
    """What an agent did before a restart counts once: its breaker opens no sooner than without."""
    place, most = tmp_path / "data", {"AVOW_BREAKER_READ_MOST": "100"}
    with serving.server(place, environment=most) as served:
        offices.declare(served, 180)
    key = avow("people", "add", "jo", "--role", "admin", "--json", "--data", place).value["key"]
    with serving.server(place, environment=most) as served:
        answers = offices.declare(served._replace(key=key), 15)
    assert {answer["decision"] for answer in answers} == {"ALLOW"}


def tail(*place):
    return avow("journal", "tail", "--json", *place).out.splitlines()


def test_the_newest_entries(data):
    """The table shows who did what; with `--json` there is one line for each."""
    lines = [json.loads(line) for line in tail("--data", data, "-n", "3")]
    assert [line["position"] for line in lines] == [22, 23, 24]
    assert lines[-1].keys() == {"position", "hash", "previous", "body"}
    shown = avow("journal", "tail", "-n", "100", "--data", data).out
    for text in ("genesis", "begins", "added key", "added person admin", "ALLOW", "adopted policy"):
        assert text in shown
    assert avow("journal", "tail", "-n", "0", "--json", "--data", data).out == ""


def test_what_an_agent_is_called_cannot_draw(data):
    """Signs in a name that steer a terminal are written out."""
    odd = "a\x1b[2Jb\u202ec"
    with serving.server(data) as served:
        key = avow("people", "add", "jo", "--role", "admin", "--json", "--data", data).value["key"]
        sent = httpx.post(
            f"{served.address}/v1/evaluate",
            content=body(record(id=odd)),
            headers={"Authorization": f"Bearer {key}"},
        )
        assert sent.status_code == 200
    shown = avow("journal", "tail", "--data", data).out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\u{1b}" in re.sub(r"\s+", "", shown)


def test_following_the_journal(running):
    """`--follow` goes on with what is appended, also by another process."""
    command = [sys.executable, "-m", "avow", "journal", "tail", "-n", "1", "--follow", "--json"]
    following = subprocess.Popen(
        [*command, "--data", str(running.data)], stdout=subprocess.PIPE, text=True
    )
    try:
        first = json.loads(following.stdout.readline())
        assert avow("agents", "add", "followed", "--data", running.data).code == 0
        after = json.loads(following.stdout.readline())
    finally:
        following.terminate()
        following.wait(20)
        following.stdout.close()
    assert after["position"] == first["position"] + 1
    assert after["body"]["agent"] == "followed"


def test_an_export_verifies(data, tmp_path):
    """An export, whole or in parts, is checked without the store it came from."""
    file, head, rest = (tmp_path / name for name in ("all", "head", "rest"))
    wrote = avow("journal", "export", "--out", file, "--json", "--data", data)
    assert wrote.value == {"file": str(file), "after": 0, "entries": 24}
    assert avow("journal", "export", "--data", data).out == file.read_text()
    assert avow("journal", "export", "--after", 10, "--out", rest, "--data", data).code == 0
    head.write_text("".join(file.read_text().splitlines(keepends=True)[:11]))
    given = ("--anchor", data / "anchor.notes", "--keys", data / "journal.keys")
    elsewhere = ("--data", tmp_path / "nothing")
    for parts in ((file,), (head, rest)):
        files = [one for part in parts for one in ("--file", part)]
        value = avow("journal", "verify", *files, *given, *elsewhere, "--json").value
        assert (value["good"], value["entries"], value["anchored"]) == (True, 24, 24)
    assert (
        avow("journal", "verify", "--file", file, "--data", data, "--json").value["anchored"] == 24
    )
    alone = avow("journal", "verify", "--file", file, *elsewhere, "--json").value
    assert alone["notices"] == ["no checkpoint was at hand: only the chain was checked"]
    assert avow("agents", "add", "bot", "--data", tmp_path / "other").code == 0
    foreign = avow("journal", "verify", "--file", file, "--data", tmp_path / "other", "--json")
    assert (foreign.code, foreign.value["anchored"]) == (0, 0)
    part = avow("journal", "verify", "--file", rest, *given, *elsewhere)
    assert part.code == 1
    assert "entry 1 is missing or out of order" in part.out
    file.write_text(file.read_text().replace('"ALLOW"', '"DENY"', 1))
    assert avow("journal", "verify", "--file", file, *given, *elsewhere).code == 1


def test_receipts(data, tmp_path):
    """A receipt by position or verdict is checked offline, and words say what it proves."""
    entry = json.loads(tail("--data", data)[-1])
    file, ring = tmp_path / "receipt", shutil.copyfile(data / "journal.keys", tmp_path / "ring")
    by_position = avow("journal", "receipt", entry["position"], "--data", data).value
    by_verdict = avow("journal", "receipt", entry["body"]["verdict"], "--data", data).value
    assert by_position["body"] == by_verdict["body"]
    assert offices.GOAL in by_position["texts"]["declaration"]["text"]
    wrote = avow("journal", "receipt", entry["position"], "--out", file, "--data", data)
    assert (wrote.code, offices.GOAL in wrote.out) == (0, False)
    check = ("journal", "receipt", "--check", file, "--data", tmp_path / "nothing")
    value = avow(*check, "--keys", ring, "--json").value
    assert (value["good"], value["position"]) == (True, entry["position"])
    said = avow(*check, "--keys", ring).out
    assert "this receipt is good" in said
    assert "does not prove that the journal still holds it" in said
    untrusted = avow(*check)
    assert untrusted.code == 1
    assert "not signed by a trusted key" in untrusted.out
    file.write_text(file.read_text().replace("ALLOW", "DENY"))
    assert avow(*check, "--keys", ring).code == 1


def test_erasure(data):
    """An erased text is gone from the folder, and the journal is as good as before."""
    position = json.loads(tail("--data", data)[-1])["position"]
    assert avow("journal", "receipt", position, "--data", data).value["texts"]
    called = avow("journal", "erase", position, "--data", data, "--json")
    assert called.value == {"position": position, "field": "declaration", "state": "erased"}
    assert avow("journal", "receipt", position, "--data", data).value["texts"] == {}
    assert avow("journal", "erase", position, "--data", data).code == 3
    value = avow("journal", "verify", "--data", data, "--json").value
    assert (value["good"], value["notices"]) == (True, [])


@pytest.mark.clause("ICNLI-12.5.04")
def test_rotation_while_a_server_runs(alone):
    """The server signs with the new key by itself, and old checkpoints stay good."""
    place = ("--data", alone.data)
    called = avow("journal", "rotate", *place)
    assert called.code == 0
    line = (alone.data / "journal.keys").read_text().splitlines()[-1]
    assert line in called.out
    key_id = bytes.fromhex(line.split("+")[1])
    assert signed_after(alone) == key_id
    value = avow("journal", "verify", *place, "--json").value
    assert (value["good"], value["breaks"], value["notices"]) == (True, [], [])
    assert [key["state"] for key in value["keys"]] == ["added", "retired", "added"]


def test_a_compromised_key_while_a_server_runs(alone):
    """What rested on the stolen key alone is named as a break, and the journal still verifies."""
    place = ("--data", alone.data)
    offices.declare(alone, 5)
    old = (alone.data / "journal.key").read_text()
    value = avow("journal", "rotate", "--compromised", "--json", *place).value
    assert value["before"] == "compromised"
    assert (alone.data / "journal.key").read_text() != old
    assert signed_after(alone) == bytes.fromhex(value["key"].split("+")[1])
    report = avow("journal", "verify", *place, "--json").value
    assert report["good"] is True
    assert report["distrusted"] > 0
    assert len(report["breaks"]) == 1
    assert "was called compromised at" in report["breaks"][0]
    assert [key["state"] for key in report["keys"]][-2:] == ["compromised", "added"]
    assert "break" in avow("journal", "verify", *place).out


def signed_after(served):
    """Have the server write, wait for its next checkpoint, and return the id of the key on it."""
    size = offices.declare(served, 1)[0]["journal"]["position"]
    with httpx.Client(base_url=served.address, headers=served.headers, timeout=20) as client:
        for _ in range(100):
            lines = client.get("/v1/journal/checkpoint").text.splitlines()
            if int(lines[1]) >= size:
                return base64.b64decode(lines[-1].rsplit(" ", 1)[1])[:4]
            time.sleep(0.1)
    raise AssertionError("the server made no checkpoint")
