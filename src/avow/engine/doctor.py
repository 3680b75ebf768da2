"""Is this installation fit to judge? A list of checks, each with what to do when it fails.

Owns the checks; the facts about the installation come from an adapter.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from avow.core.errors import AvowError
from avow.core.policy import Policy
from avow.core.verdict import Verdict
from avow.core.words import Outcome

PYTHON_LEAST = (3, 11)
_FOR_OTHERS = 0o077


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """The facts about a data folder; `key_mode` is none where there is no signing key."""

    folder: str
    is_there: bool
    is_writable: bool
    key_mode: int | None
    anchor: str
    anchor_inside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What came of a backup that was restored into another folder."""

    entries: int
    head: str
    restored_head: str


def check_library(name: str, found: int, least: int) -> Check:
    """Check that a library with a known fault is not in use; versions as SQLite numbers them."""
    if found >= least:
        return Check(name, State.GOOD, _numbered(found))
    detail = f"{_numbered(found)}, which can lose commits"
    return Check(name, State.BAD, detail, f"install one from {_numbered(least)} on: `make setup`")


def check_premises(premises: Premises) -> tuple[Check, ...]:
    """Check the data folder, who may read its key, and where its anchor lies."""
    title = "data folder"
    if not premises.is_there:
        return (Check(title, State.GOOD, f"{premises.folder}, not there yet: `avow up` makes it"),)
    checks = [Check(title, State.GOOD, premises.folder)]
    if not premises.is_writable:
        told = f"{premises.folder} cannot be written to"
        hint = "give it to the account that runs the server"
        checks = [Check(title, State.BAD, told, hint)]
    return (*checks, *_key(premises), *_anchor(premises))


def check_journal(title: str, found: Callable[[], tuple[str, list[str]]]) -> Check:
    """Check that the journal verifies; `found` tells what was looked at and what is wrong."""
    hint = "keep the files as they are and run `avow journal verify`"
    try:
        detail, problems = found()
    except AvowError as error:
        return Check(title, State.BAD, error.message, error.hint)
    if problems:
        return Check(title, State.BAD, f"{detail}; {problems[0]}", hint)
    return Check(title, State.GOOD, detail)


def check_unanchored(count: int, most: int) -> Check:
    """Check that no more entries wait for a checkpoint than a writer may leave."""
    title = "unanchored entries"
    if count <= most:
        return Check(title, State.GOOD, str(count))
    told = f"{count}, and a writer leaves no more than {most}"
    return Check(title, State.WARNING, told, "look whether the anchor's file can be written")


def check_breakers(breakers: list[tuple[str, str]]) -> Check:
    """Check whether breakers are open; they are for a human to look at, not a fault."""
    title = "open breakers"
    if not breakers:
        return Check(title, State.GOOD, "none")
    listed = ", ".join(f"{means} by `{agent}`" for agent, means in breakers[:5])
    more = f" and {len(breakers) - 5} more" if len(breakers) > 5 else ""  # noqa: PLR2004 - as many as are listed
    hint = "see what the agent did: `avow journal tail`; a breaker closes after its quiet time"
    return Check(title, State.WARNING, listed + more, hint)


def check_rehearsal(rehearse: Callable[[], Rehearsal | str]) -> Check:
    """Check that a backup can be made and restored; a text tells why it was not tried."""
    title = "backup and restore, rehearsed"
    try:
        done = rehearse()
    except AvowError as error:
        return Check(title, State.BAD, error.message, error.hint)
    if isinstance(done, str):
        return Check(title, State.WARNING, done, "rehearse it where there is room: `avow backup`")
    if done.head != done.restored_head:
        told = f"the restored journal has another entry {done.entries}"
        return Check(title, State.BAD, told, "report it together with the versions above")
    return Check(title, State.GOOD, f"{done.entries} entries, the same head {done.head[:12]}")


def _key(premises: Premises) -> Iterator[Check]:
    mode = premises.key_mode
    if mode is None:
        return
    if mode & _FOR_OTHERS:
        hint = f"`chmod 600 {premises.folder}/journal.key`, then `avow journal rotate`"
        yield Check("signing key", State.BAD, f"others may read it: mode {mode:o}", hint)
    else:
        yield Check("signing key", State.GOOD, f"for its owner only: mode {mode:o}")


def _anchor(premises: Premises) -> Iterator[Check]:
    if premises.anchor_inside:
        told = f"{premises.anchor}, beside the journal it vouches for"
        hint = "set `journal.anchor` to a file of another owner, best on another disk"
        yield Check("anchor", State.WARNING, told, hint)
    else:
        yield Check("anchor", State.GOOD, premises.anchor)


def _numbered(version: int) -> str:
    return f"{version // 1_000_000}.{version // 1_000 % 1_000}.{version % 1_000}"
