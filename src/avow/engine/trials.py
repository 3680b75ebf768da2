"""Trials of a policy: records with the verdict somebody expects, and whether they agree.

Owns the shape of a file of trials and the comparison. The same files drive the test suite.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from avow.core.errors import MalformedError, Problem
from avow.core.verdict import Verdict
from avow.core.words import TRUST, Trust

_EXPECTABLE: dict[str, Callable[[Verdict], Any]] = {
    "outcome": lambda verdict: verdict.outcome.name,
    "score": lambda verdict: verdict.score,
    "level": lambda verdict: verdict.level.word,
    "policy_triggered": lambda verdict: verdict.decided_by.name,
    "rules": lambda verdict: sorted({finding.id for finding in verdict.findings}),
    "reasons": lambda verdict: list(verdict.reasons),
    "reason": lambda verdict: verdict.decided_by.says,
    "hazard": lambda verdict: verdict.hazard,
}
_KEYS = {"name", "record", "expect", "trust", "policy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One record and what is expected of it; `policy` is None where the caller chooses."""

    name: str
    record: bytes
    expect: dict[str, Any]
    trust: Trust | None
    policy: str | None


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a trial: every expectation that was not met, as (what, expected, got)."""

    trial: Trial
    verdict: Verdict | None
    differences: tuple[tuple[str, Any, Any], ...]

    @property
    def passed(self) -> bool:
        """Return whether everything came out as expected."""
        return not self.differences


def read(parsed: Any, origin: str) -> tuple[Trial, ...]:
    """Return the trials of a parsed file, or raise with every problem."""
    problems: list[Problem] = []
    entries = parsed.get("cases") if isinstance(parsed, dict) else None
    if not isinstance(entries, list) or not entries:
        message = "expected a list `cases` that is not empty"
        problems.append(Problem(origin, "cases.invalid", message))
        entries = []
    trials = [_trial(entry, f"cases[{n}]", problems) for n, entry in enumerate(entries)]
    if problems:
        raise MalformedError("cases.invalid", problems)
    return tuple(trial for trial in trials if trial is not None)


def run(trial: Trial, judge: Callable[[Trial], Verdict]) -> Tried:
    """Judge one trial and compare; a malformed record is a difference, not an error."""
    try:
        verdict = judge(trial)
    except MalformedError as error:
        wanted = trial.expect.get("malformed")
        got = error.code
        told = () if wanted == got else (("malformed", wanted, got),)
        return Tried(trial, None, told)
    differences = [
        (what, wanted, _EXPECTABLE[what](verdict))
        for what, wanted in trial.expect.items()
        if what in _EXPECTABLE and _EXPECTABLE[what](verdict) != wanted
    ]
    if "malformed" in trial.expect:
        differences.append(("malformed", trial.expect["malformed"], verdict.outcome.name))
    return Tried(trial, verdict, tuple(differences))


def _trial(entry: Any, path: str, problems: list[Problem]) -> Trial | None:
    found = list(_faults(entry))
    problems += [Problem(f"{path}.{key}".rstrip("."), "cases.invalid", told) for key, told in found]
    body = None if found else _body(entry["record"])
    if body is None:
        return None
    return Trial(
        name=entry["name"],
        record=body,
        expect=entry["expect"],
        trust=TRUST[entry["trust"]] if "trust" in entry else None,
        policy=entry.get("policy"),
    )


def _faults(entry: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an entry, as the key and the words for it."""
    if not isinstance(entry, dict):
        yield "", "expected a table"
        return
    for key in sorted(entry.keys() - _KEYS):
        yield key, f"is not one of {', '.join(sorted(_KEYS))}"
    if not isinstance(entry.get("name"), str):
        yield "name", "expected a text"
    if "record" not in entry:
        yield "record", "is missing"
    elif _body(entry["record"]) is None:
        yield "record", "holds something that JSON has no form for"
    if not isinstance(entry.get("policy", ""), str):
        yield "policy", "expected a text"
    if entry.get("trust", "low") not in list(TRUST):
        yield "trust", f"is not one of {', '.join(TRUST)}"
    yield from _expectation_faults(entry.get("expect"))


def _expectation_faults(expect: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(expect, dict) or not expect:
        yield "expect", "expected a table that is not empty"
        return
    for key in sorted(expect.keys() - _EXPECTABLE.keys() - {"malformed"}):
        yield f"expect.{key}", f"is not one of {', '.join(_EXPECTABLE)}, malformed"


def _body(record: Any) -> bytes | None:
    try:
        return (record if isinstance(record, str) else json.dumps(record)).encode()
    except (TypeError, ValueError, RecursionError):
        return None
