"""How the library is used, for the type checker only; never run."""

from typing import assert_type

import avow

verdict = avow.evaluate({"irl_version": "0.1"}, policy="default", trust="high")
assert_type(verdict, avow.Verdict)
assert_type(verdict.outcome, avow.Outcome)
assert_type(verdict.score, int)
assert_type(verdict.level, avow.Level)
assert_type(verdict.reasons, tuple[str, ...])
assert_type(verdict.findings, tuple[avow.Finding, ...])
assert_type(verdict.digest, str)
assert_type(verdict.allowed, bool)
