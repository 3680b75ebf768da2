"""Fuzzed bodies through the reader and through the command line: no crash, no fault, no allow."""

import contextlib
import io
import json
import sys
from collections import Counter

from avow import wiring
from avow.adapters import policy_files
from avow.channels.cli.app import run
from avow.core.codes import CODES
from avow.core.errors import MalformedError
from avow.core.words import Outcome
from avow.engine.judgement import Judge
from tests.fuzz.bodies import bodies


class Stdin:
    """Standard input that holds one body."""

    def __init__(self, body: bytes) -> None:
        self.buffer = io.BytesIO(body)


def at_the_reader(seed: int, count: int) -> Counter[str]:
    """Judge every body in process, under both presets; return how they ended."""
    judge, ended = Judge(), Counter()
    presets = [policy_files.preset(name) for name in ("default", "irl-0.1")]
    for number, body in enumerate(bodies(seed, count)):
        try:
            verdict = judge.judge(body, policy=presets[number % 2])
        except MalformedError as error:
            assert error.problems, body
            assert all(problem.code in CODES for problem in error.problems), body
            ended["malformed"] += 1
        else:
            assert verdict.outcome >= Outcome.GATE, body
            ended[verdict.outcome.name] += 1
    return ended


def at_the_command_line(seed: int, count: int) -> Counter[str]:
    """Give every body to `avow evaluate -`; return how the calls ended."""
    ended = Counter()
    names = {2: "malformed", 20: "GATE", 30: "DENY"}
    for number, body in enumerate(bodies(seed, count)):
        out, err = io.StringIO(), io.StringIO()
        # Every tenth body is shown to a person and not to a program.
        form = [] if number % 10 == 0 else ["--json"]
        sys.stdin, before = Stdin(body), sys.stdin
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run(["evaluate", "-", *form], wiring.desk)
        finally:
            sys.stdin = before
        assert code in names, (code, body)
        if form:
            answer = json.loads(out.getvalue())
            assert answer.get("decision", "malformed") == names[code], body
            assert not err.getvalue(), body
        else:
            shown = out.getvalue() + err.getvalue()
            assert names[code] in shown or "error declaration." in shown, body
            assert shown.replace("\n", "").isprintable(), body
        ended[names[code]] += 1
    return ended
