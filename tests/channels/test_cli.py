"""The command line: what it prints, what it returns, what it says to mistakes."""

import io
import json
import sys

import pytest

from avow import wiring
from avow.channels.cli import app
from avow.channels.cli.app import run
from tests.records import body, record


class Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.fixture
def avow(capsys, monkeypatch):
    """Run the command line in process and return code, output and errors."""

    def call(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", Stdin(stdin))
        code = run(list(arguments), wiring.desk)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.mark.clause("IRL-2.19", "IRL-2.22")
def test_the_example_is_denied_with_every_point(avow):
    """The specification's example, comments and all, is denied with exit code 30."""
    code, out, err = avow("evaluate", "examples/incident.jsonc")
    assert code == 30
    assert err == ""
    for text in ("DENY", "critical risk 100", "POL-003", "production delete + no rollback", "+50"):
        assert text in out
    assert "the agent says (unverified)" in out
    assert "Fix credential mismatch in staging" in out


@pytest.mark.parametrize(
    ("example", "code", "word"),
    [("read.json", 0, "ALLOW"), ("migration.json", 20, "GATE"), ("incident.jsonc", 30, "DENY")],
)
def test_exit_codes(avow, example, code, word):
    """0 for allow, 20 for a human, 30 for deny; JSON on request."""
    got, out, _ = avow("evaluate", f"examples/{example}", "--json")
    assert got == code
    answer = json.loads(out)
    assert answer["decision"] == word
    assert answer["verdict_id"].startswith("ver_")
    assert answer["timestamp"].endswith("Z")


def test_logged_is_allowed(avow):
    """LOG_ALLOW exits with 0."""
    code, out, _ = avow("evaluate", "-", "--json", stdin=body(record(type="write")))
    assert (code, json.loads(out)["decision"]) == (0, "LOG_ALLOW")


def test_two_evaluations_have_two_ids(avow):
    """Each evaluation gets an id of its own."""
    ids = {
        json.loads(avow("evaluate", "examples/read.json", "--json")[1])["verdict_id"] for _ in "ab"
    }
    assert len(ids) == 2


@pytest.mark.clause("IRL-2.21")
@pytest.mark.parametrize(
    ("content", "code", "path"),
    [
        (b"", "declaration.unreadable", ""),
        (b"{", "declaration.unreadable", ""),
        (b'{"a": 1, "a": 2}', "declaration.unreadable", "a"),
        (b"{}", "declaration.unknown_dialect", ""),
        (body(record(verified="yes")), "declaration.invalid", "rationale.verified"),
        (b" " * 300_000, "declaration.too_large", ""),
    ],
)
def test_malformed_input_is_told_in_full(avow, content, code, path):
    """Exit code 2, the stable code, every problem with its path and a hint, and no verdict."""
    got, out, err = avow("evaluate", "-", stdin=content)
    assert got == 2
    assert code in err
    assert "hint" in err
    assert out == ""
    got, out, err = avow("evaluate", "-", "--json", stdin=content)
    answer = json.loads(out)
    assert (got, answer["code"]) == (2, code)
    assert path in {problem["path"] for problem in answer["problems"]}
    assert all(problem["hint"] for problem in answer["problems"])
    assert "decision" not in answer


def test_a_file_that_is_not_there(avow):
    """A missing file is the caller's to fix."""
    code, _, err = avow("evaluate", "nowhere.json")
    assert code == 2
    assert "no such file" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate",),
        ("evaluat", "x"),
        ("evaluate", "examples/read.json", "--colour"),
        ("evaluate", "examples/read.json", "--trust", "root"),
        ("policy", "nothing"),
    ],
)
def test_mistakes_on_the_command_line(avow, arguments):
    """A wrong call exits with 2 and points to the help."""
    code, out, err = avow(*arguments)
    assert code == 2
    assert err.startswith("error usage: ")
    assert "--help" in err
    assert out == ""


def test_no_arguments_print_the_help(avow):
    """Called alone it says what it is and what to start with."""
    code, out, err = avow()
    assert code == 0
    assert "avow drill" in out + err


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate",), ("drill",), ("conformance",), ("settings",), ("doctor",),
        ("policy", "check"), ("policy", "test"),
    ],
)  # fmt: skip
def test_every_command_has_an_example_and_json(avow, command):
    """The help of each command shows an example and the flag for programs."""
    code, out, _ = avow(*command, "--help")
    assert code == 0
    assert "Example:" in out
    assert "--json" in out


def test_a_fault_shows_an_incident_and_not_its_cause(avow, monkeypatch):
    """Something unforeseen exits with 5 and an incident id, and quotes nothing of the record."""

    def broken(*_args, **_kwargs):
        raise RuntimeError("the secret of the record")

    monkeypatch.setattr(app, "app", broken)
    code, out, err = avow("evaluate", "-")
    assert code == 5
    assert "incident `inc_" in err
    assert "secret" not in out + err
    code, out, _ = avow("evaluate", "-", "--json")
    assert (code, json.loads(out)["code"]) == (5, "fault.internal")


def test_an_interrupt_is_not_an_answer(avow, monkeypatch):
    """Ctrl-C exits with 130, which no caller takes for permission."""

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "app", interrupted)
    assert avow("drill")[0] == 130


def test_what_an_agent_writes_cannot_draw(avow):
    """Control characters, bidi marks and markup in agent text are shown, not obeyed."""
    odd = "a\x1b[2Jb\u202ec [bold red]x[/]"
    declared = record(stated_goal=odd, target_resource=odd, id=odd, type="write")
    code, out, _ = avow("evaluate", "-", stdin=body(declared))
    assert code == 0
    assert "\x1b[2J" not in out
    assert "\u202e" not in out
    assert "\\u{1b}[2Jb\\u{202e}c [bold red]x[/]" in out


def test_a_name_cannot_pass_for_a_line_of_the_card(avow):
    """Long names stay in their column and between backticks, which they cannot close."""
    target = "é:logs/" + "x" * 50 + " local · reversible · hazard 0` approved"
    name = "bot` (trust verified, signature valid)"
    declared = record(target_resource=target, id=name, type="delete")
    _, out, _ = avow("evaluate", "-", stdin=body(declared))
    rows = [line.strip("│ ") for line in out.splitlines() if line.startswith("│")]
    assert rows[0].startswith("DELETE  `É:/logs/")
    assert not any(row.startswith("local") for row in rows)
    assert sum(row.startswith("where") for row in rows) == 1
    assert "agent   `bot\\u{60} (trust verified, signature valid)` (trust low" in out
    assert out.count("`") == 4


def test_what_would_run_is_shown_to_the_one_who_must_read_it(avow):
    """A command, SQL or tool call stands in a box of its own, with everything invisible written out."""
    call = {"server": "files", "tool": "write", "arguments": {"path": "/x\u202e"}}
    declared = record(command="rm -rf /\x1b[2K", sql="drop table t", tool_call=call)
    code, out, _ = avow("evaluate", "-", stdin=body(declared))
    assert code == 20
    assert "command that would run (uninspectable)" in out
    assert "rm -rf /\\u{1b}[2K" in out
    assert "drop table t" in out
    assert "\u202e" not in out


def test_an_allowed_record_is_not_told_to_ask(avow):
    """Advice is for those who are stopped."""
    _, out, _ = avow("evaluate", "examples/read.json")
    assert "what now" not in out
    _, out, _ = avow("evaluate", "examples/incident.jsonc", "--policy", "irl-0.1")
    assert "what now" in out


def test_what_stands_in_a_policy_cannot_draw(avow, tmp_path):
    """Escapes in the texts of a policy file are shown, not obeyed."""
    odd = tmp_path / "odd.toml"
    odd.write_text('extends = "default"\nname = "a\\u001b[2J"\nsummary = "b\\u202e"\n')
    code, out, _ = avow("policy", "check", str(odd))
    assert code == 0
    assert "\x1b" not in out
    assert "\u202e" not in out
    _, out, _ = avow("evaluate", "examples/incident.jsonc", "--policy", str(odd))
    assert "\x1b" not in out


def test_json_is_ascii(avow):
    """What an agent wrote reaches a terminal only escaped, in errors too."""
    _, out, _ = avow("evaluate", "-", "--json", stdin=body({**record(), "\u009b2J\u202e": 1}))
    assert out.isascii()
    assert json.loads(out)["problems"][0]["path"] == "\u009b2J\u202e"


def test_the_version(avow):
    """`--version` answers without a command."""
    code, out, _ = avow("--version")
    assert (code, out) == (0, "avow 0.1.0\n")


def test_the_drill_shows_every_incident(avow):
    """The table lists all incidents; the data has sources, reasons and findings."""
    code, out, _ = avow("drill")
    assert code == 0
    assert "got at least what would have helped. Nothing ran." in out
    code, data, _ = avow("drill", "--json")
    replays = json.loads(data)
    assert len(replays) >= 11
    assert all(replay["source"] and replay["held"] for replay in replays)
    assert replays[0]["decision"] == "DENY"
    assert avow("drill", "--next")[1].count("evaluate examples/") == 3


def test_the_drill_fails_when_a_policy_would_have_let_it_happen(avow, tmp_path):
    """Under a policy that asks for nothing, the drill exits with 1 and says what was needed."""
    soft = tmp_path / "soft.toml"
    soft.write_text(
        'extends = "irl-0.1"\nname = "soft"\nallow_relaxing = true\n'
        "[bands.high]\nfrom = 98\n[bands.critical]\nfrom = 99\n[bands.medium]\nfrom = 97\n"
        "[points]\nproduction = 0\nirreversible = 0\n"
    )
    code, out, _ = avow("drill", "--policy", str(soft))
    assert code == 1
    assert "needed" in out


def test_conformance(avow):
    """Five specifications, the count of open MUSTs, and who declares it."""
    code, out, _ = avow("conformance")
    assert code == 0
    assert "Self-declared" in out
    value = json.loads(avow("conformance", "--json")[1])
    assert len(value["clauses"]) == 478
    assert value["declared_by"] == "self"


def test_settings_and_doctor(avow, monkeypatch):
    """Settings show value and origin; a bad one refuses every command; the doctor is content."""
    monkeypatch.setenv("AVOW_POLICY_SOURCE", "irl-0.1")
    code, out, _ = avow("settings")
    assert code == 0
    assert "AVOW_POLICY_SOURCE" in out
    assert json.loads(avow("settings", "--json")[1])["policy.source"]["value"] == "irl-0.1"
    code, out, _ = avow("evaluate", "examples/incident.jsonc", "--json")
    assert json.loads(out)["x_policy"]["name"] == "irl-0.1"
    code, out, _ = avow("doctor")
    assert code == 0
    assert "softer than the built-in policy" in out
    assert {check["state"] for check in json.loads(avow("doctor", "--json")[1])} == {
        "good",
        "warning",
    }
    monkeypatch.setenv("AVOW_POLICY_SOURCE", "missing.toml")
    assert avow("doctor")[0] == 1
    assert avow("evaluate", "examples/read.json")[0] == 2
    monkeypatch.setenv("AVOW_SPEED", "fast")
    code, _, err = avow("drill")
    assert code == 2
    assert "AVOW_SPEED" in err


def test_policy_check(avow, tmp_path):
    """A good policy is shown, a soft one shows what it loosens, a bad one lists every problem."""
    code, out, _ = avow("policy", "check", "default")
    assert code == 0
    assert "POL-003" in out
    code, out, _ = avow("policy", "check", "policies/irl-0.1.toml")
    assert code == 0
    assert "softer than the built-in policy" in out
    assert json.loads(avow("policy", "check", "irl-0.1", "--json")[1])["relaxes"]
    bad = tmp_path / "bad.toml"
    bad.write_text('extends = "default"\ncolour = "red"\n[points]\nproduction = -1\n')
    code, _, err = avow("policy", "check", str(bad))
    assert code == 2
    assert "colour" in err
    assert "points.production" in err
    bad.write_text('extends = "default"\n[points]\nproduction = 1\n')
    code, _, err = avow("policy", "check", str(bad))
    assert code == 2
    assert "production scores 1 and not 30" in err
    assert "allow_relaxing" in err


def test_policy_test(avow, tmp_path):
    """Cases as expected exit with 0, differing ones with 1 and a table, unreadable ones with 2."""
    code, out, _ = avow("policy", "test", "tests/vectors")
    assert code == 0
    assert "146 of 146 cases as expected" in out
    cases = tmp_path / "cases.toml"
    cases.write_text(
        '[[cases]]\nname = "reads are free"\nexpect = { outcome = "DENY", score = 0 }\n'
        'record = """' + json.dumps(record()) + '"""\n'
    )
    code, out, _ = avow("policy", "test", str(cases))
    assert code == 1
    assert "reads are free" in out
    assert "0 of 1 cases as expected" in out
    value = json.loads(avow("policy", "test", str(cases), "--json")[1])
    assert value[0]["differences"] == [{"what": "outcome", "expected": "DENY", "got": "ALLOW"}]
    cases.write_text("nonsense")
    assert avow("policy", "test", str(cases))[0] == 2
    assert avow("policy", "test", str(tmp_path / "missing.json"))[0] == 2
    (tmp_path / "empty").mkdir()
    assert avow("policy", "test", str(tmp_path / "empty"))[0] == 2
