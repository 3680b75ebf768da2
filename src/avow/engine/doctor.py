"""Is this installation fit to judge? A list of checks, each with what to do when it fails.

Owns the checks; the facts about the installation come from an adapter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from avow.core.errors import AvowError
from avow.core.policy import Policy
from avow.core.verdict import Verdict
from avow.core.words import Outcome

PYTHON_LEAST = (3, 11)


class State(StrEnum):
    """How a check came out."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    state: State
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The facts about what is installed: versions found, and the versions that were tested."""

    python: tuple[int, int, int]
    found: dict[str, str | None]
    tested: dict[str, str]


def check_python(installation: Installation) -> Check:
    """Check that the interpreter is new enough."""
    version = ".".join(map(str, installation.python))
    if installation.python[:2] >= PYTHON_LEAST:
        return Check("python", State.GOOD, version)
    return Check("python", State.BAD, version, "install Python 3.11 or newer")


def check_packages(installation: Installation) -> tuple[Check, ...]:
    """Check that each package is there, in the version that was tested."""
    return tuple(
        _package(name, installation.found.get(name), tested)
        for name, tested in sorted(installation.tested.items())
    )


def _package(name: str, found: str | None, tested: str) -> Check:
    if found is None:
        return Check(name, State.BAD, "not installed", "run `make setup`")
    if found == tested:
        return Check(name, State.GOOD, found)
    return Check(name, State.WARNING, f"{found}, tested with {tested}", "run `make setup`")


def check_policy(name: str, load: Callable[[str], Policy]) -> Check:
    """Check that the policy in force loads, and say whether it is softer than the built-in one."""
    title = f"policy {name}"
    try:
        policy = load(name)
    except AvowError as error:
        return Check(title, State.BAD, str(error), error.hint)
    detail = f"version {policy.version}, {len(policy.rules)} rules, digest {policy.digest[:12]}"
    if policy.relaxes:
        told = f"{detail}; softer than the built-in policy in {len(policy.relaxes)} points"
        return Check(title, State.WARNING, told, "`avow policy check` lists them")
    return Check(title, State.GOOD, detail)


def check_judgement(judge: Callable[[], Verdict]) -> Check:
    """Check that the specification's own example is denied, as it must be under any policy."""
    title = "the specification's example"
    verdict = judge()
    detail = f"{verdict.outcome.name}, score {verdict.score}, {verdict.decided_by.id}"
    if verdict.outcome is Outcome.DENY:
        return Check(title, State.GOOD, detail)
    return Check(title, State.BAD, detail, "this policy would let the published incident happen")
