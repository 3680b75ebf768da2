"""The README is run: its commands, its program and its output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))


def blocks(language, text=README):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def call(*arguments, **given):
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **given,
    )


def test_the_program_prints_what_the_readme_says():
    """The Python example, run in a fresh process, prints the block below it."""
    shown = call("-c", blocks("python")[0])
    assert shown.stderr == ""
    assert shown.stdout == blocks("text")[0]


@pytest.mark.clause("IRL-2.19")
def test_the_first_record_is_judged_as_the_readme_says():
    """The command of the README denies with exit code 30 and answers in JSON."""
    command = next(line for line in blocks("console")[2].splitlines() if "evaluate" in line)
    arguments = command.removeprefix("$ .venv/bin/avow ").split()
    shown = call("-m", "avow", *arguments)
    assert shown.returncode == 30
    answer = json.loads(shown.stdout)
    assert (answer["decision"], answer["risk"]["score"]) == ("DENY", 100)
    assert answer["policy_triggered"] == "POL-003: no-destructive-production"


def test_the_two_commands_exist_and_the_drill_has_its_incidents():
    """The targets are there, and the drill replays as many incidents as the README names."""
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\$ make (\w+)", README):
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target
    shown = call("-m", "avow", "drill", "--next")
    assert shown.returncode == 0
    count = re.search(r"replays (\d+) public incidents", README).group(1)
    assert f"{count} public incidents under policy default" in shown.stdout
    assert "Try next" in shown.stdout


def test_what_the_drill_suggests_next_can_be_run():
    """Every command printed after the drill works as printed."""
    shown = call("-m", "avow", "drill", "--next").stdout
    suggested = re.findall(r"^  avow (.+?)  +\S", shown.split("Try next")[1], re.MULTILINE)
    assert len(suggested) >= 4
    for line in suggested:
        assert call("-m", "avow", *line.split()).returncode in (0, 20, 30), line


def test_the_policy_of_the_guide_is_a_policy(tmp_path):
    """The example policy loads, and gates what it says it gates."""
    guide = (ROOT / "docs" / "guide" / "policy.md").read_text()
    file = tmp_path / "our-policy.toml"
    file.write_text(blocks("toml", guide)[0])
    assert call("-m", "avow", "policy", "check", str(file)).returncode == 0
    record = json.loads((ROOT / "examples" / "read.json").read_text())
    record["operation"]["type"] = "write"
    judged = call("-m", "avow", "evaluate", "-", "--policy", str(file), input=json.dumps(record))
    assert judged.returncode == 20
    assert "POL-101" in judged.stdout


def test_the_record_of_the_guide_is_a_record():
    """The example record is valid and waits for a human."""
    guide = (ROOT / "docs" / "guide" / "declare.md").read_text()
    judged = call("-m", "avow", "evaluate", "-", input=blocks("json", guide)[0])
    assert judged.returncode == 20


SHOW = f"{sys.executable} -m avow evaluate examples/read.json"


@pytest.mark.parametrize(
    "command",
    [
        f"{SHOW} >&-",
        f"{SHOW} --json >&-",
        f"{SHOW} >/dev/full",
        f"{SHOW} --json >/dev/full",
        f"{sys.executable} -m avow evaluate - <&-",
        f"set -o pipefail; {SHOW} --json | true",
    ],
)
def test_a_verdict_that_cannot_be_shown_is_no_permission(command):
    """Closed, full or broken streams end in a fault: never 0, and without a traceback."""
    ended = subprocess.run(
        ["bash", "-c", command],  # noqa: S607 - the one on the path
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    # A pipe that nobody reads may still take a short answer whole; then it was shown.
    assert ended.returncode != 0 or "pipefail" in command


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_our_signs_still_gets_the_verdict(encoding):
    """Signs that an encoding lacks are written out, and the exit code is the promised one."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "0"}
    ended = subprocess.run(
        [sys.executable, "-m", "avow", "evaluate", "examples/incident.jsonc"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 30
    assert b"POL-003" in ended.stdout


@pytest.mark.clause("IRL-5.19", "IRL-1.04")
def test_the_line_that_is_printed_works_when_pasted(tmp_path):
    """`avow up` prints a curl line; pasted into a shell it is denied, and journalled."""
    command = [sys.executable, "-u", "-m", "avow", "up", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            lines = iter(process.stdout.readline, "")
            pasted = next(line.strip() for line in lines if line.strip().startswith("curl "))
            shown = subprocess.run(
                ["/bin/bash", "-c", pasted], capture_output=True, text=True, check=True, timeout=30
            )
        finally:
            process.terminate()
            process.wait(30)
    answer = json.loads(shown.stdout)
    assert (answer["decision"], answer["risk"]["level"]) == ("DENY", "critical")
    assert answer["policy_triggered"] == "POL-003: no-destructive-production"
    assert answer["journal"]["position"] >= 5
    status = call("-m", "avow", "journal", "verify", "--data", str(tmp_path))
    assert status.returncode == 0, status.stdout + status.stderr
