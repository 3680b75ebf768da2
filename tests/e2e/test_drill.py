"""The drill over HTTP: every incident is judged by a real server, and its journal tells of it."""

import json

import pytest

import avow
from avow import wiring
from avow.channels.cli.app import run
from tests import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving.server(tmp_path_factory.mktemp("drill") / "data") as running:
        yield running


@pytest.fixture
def untouched(tmp_path):
    """Start a server that nobody asked anything yet: an open question is not journalled twice."""
    with serving.server(tmp_path / "data") as running:
        yield running


@pytest.fixture
def call(capsys):
    """Run the command line in process and return code, output and errors."""

    def called(*arguments):
        code = run(["drill", *arguments], wiring.desk)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return called


@pytest.fixture
def client(served):
    with avow.Client(served.address, served.key) as opened:
        yield opened


@pytest.mark.clause("IRL-1.04")
def test_the_incident_ends_in_a_denial_and_one_entry(untouched, call):
    """Each incident leaves one verdict in the journal, the first is DENY, and nothing is run."""
    with avow.Client(untouched.address, untouched.key) as client:
        before = client.ready().journal
        code, out, _ = call("--url", untouched.address, "--key", untouched.key, "--json")
        assert code == 0
        check_journal(client, before, json.loads(out))


def check_journal(client, before, replays):
    entries = client.journal(after=before, most=1000).entries
    assert len(replays) > 10
    assert [entry.body["kind"] for entry in entries] == ["verdict"] * len(replays)
    assert [entry.body["verdict"] for entry in entries] == [one["verdict_id"] for one in replays]
    assert [entry.position for entry in entries] == [one["journal"]["position"] for one in replays]
    first = replays[0]
    assert (first["decision"], first["score"]) == ("DENY", 100)
    assert client.verdict(first["verdict_id"]).state == "denied"
    # Running takes a permit, and none was ever asked for or can be had.
    with pytest.raises(avow.RefusedError):
        client.redeem(first["verdict_id"])


def test_a_server_says_what_the_desk_says(served, call):
    """With and without a server the same data comes out, but for the place in the journal."""
    code, here, _ = call("--json")
    _, there, _ = call("--url", served.address, "--key", served.key, "--json")
    added = {"verdict_id", "journal"}
    replays = [
        {name: value for name, value in one.items() if name not in added}
        for one in json.loads(there)
    ]
    assert code == 0
    assert replays == json.loads(here)


def test_a_simulated_drill_writes_nothing(served, call, client, tmp_path):
    """With `--simulate` the verdicts are the same and the journal stays as it is."""
    file = tmp_path / "key"
    file.write_text(served.key + "\n")
    before = client.ready().journal
    code, out, _ = call("--url", served.address, "--key-file", str(file), "--simulate", "--json")
    assert code == 0
    assert {one["journal"] for one in json.loads(out)} == {None}
    assert client.ready().journal == before
    _, table, _ = call("--url", served.address, "--key-file", str(file), "--simulate")
    assert "The journal holds" not in table


def test_the_table_shows_where_the_journal_holds_it(served, call, client):
    """For people there is one more column, and a sentence that counts the entries."""
    before = client.ready().journal
    code, out, _ = call("--url", served.address, "--key", served.key)
    count = len(wiring.desk().incidents())
    assert code == 0
    assert f"{count} public incidents under policy default" in " ".join(out.split())
    assert f"The journal holds {count} of them." in " ".join(out.split())
    assert str(before + 1) in out
    assert "The journal" not in call()[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--key", "k"],
        ["--key-file", "k"],
        ["--simulate"],
        ["--url", "http://127.0.0.1:1"],
        ["--url", "http://127.0.0.1:1", "--key", "k", "--key-file", "k"],
        ["--url", "http://127.0.0.1:1", "--key", "k", "--policy", "irl-0.1"],
        ["--url", "nowhere", "--key", "k"],
        ["--url", "http://127.0.0.1:1", "--key-file", "no-such-file"],
    ],
)
def test_options_that_do_not_fit_are_refused(call, arguments):
    """Half a pair of options, both of two, or a policy for a server is a mistake in the call."""
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert "error" in err


def test_a_server_that_is_not_there_holds_nothing(served, call, client):
    """Nobody there is a fault, a wrong key a refusal, and an agent may not speak for others."""
    agent = client.add_agent("drill-agent")
    code, _, err = call("--url", "http://127.0.0.1:1", "--key", served.key)
    assert (code, "client.no_answer" in err) == (5, True)
    assert served.key not in err
    assert call("--url", served.address, "--key", "avow_wrong")[0] == 3
    assert call("--url", served.address, "--key", agent.key)[0] == 3
