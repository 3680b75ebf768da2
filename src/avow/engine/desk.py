"""The desk: what every door works with. One place to judge at, without recording.

A door translates its own words into these calls and the results back; it builds none of the parts.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

from avow.core import ids
from avow.core.intent import Intent
from avow.core.policy import Policy
from avow.core.verdict import Verdict
from avow.core.words import Trust
from avow.engine.archive import Archive, Evidence, Progress, ReceiptChecked, Verified
from avow.engine.conformance import Register
from avow.engine.doctor import Check
from avow.engine.drill import Incident
from avow.engine.judgement import AUTO, Judge, Vouched
from avow.engine.office import Office, Welcome
from avow.engine.ports import Clock, Entropy
from avow.engine.restoring import Restored


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One declaration judged at the desk: what was meant, what came of it, when."""

    intent: Intent
    verdict: Verdict
    verdict_id: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting in force, as a door shows it."""

    key: str
    value: str
    origin: str
    variable: str
    bounds: str
    meaning: str


# Settings given on the command line, by key.
Flags = Mapping[str, str | int]
# What a running server answers to a record, in the words of the wire.
Answering = Callable[[bytes], Mapping[str, Any]]


class Doctor(Protocol):
    """Examines the installation, and the store if there is one."""

    def __call__(
        self, flags: Flags | None = None, progress: Progress | None = None
    ) -> tuple[Check, ...]:
        """Return what was looked at; nothing is changed."""
        ...


class Restore(Protocol):
    """Puts a backup in place of nothing."""

    def __call__(
        self, flags: Flags, folder: str, *, lose_entries: bool, progress: Progress | None
    ) -> Restored:
        """Return what was restored, or raise and leave everything as it was."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The parts a door may use; those that read files are called only when asked for."""

    judge: Judge
    size_bytes_max: int
    policies: Callable[[str], Policy]
    presets: Callable[[], tuple[str, ...]]
    default_policy: str
    clock: Clock
    entropy: Entropy
    settings: Callable[[], tuple[Setting, ...]]
    incidents: Callable[[], tuple[Incident, ...]]
    register: Callable[[], Register]
    doctor: Doctor
    serve: Callable[[Flags, Callable[[Welcome], None]], None]
    office: Callable[[Flags], Office]
    archive: Callable[[Flags], Archive]
    verify_export: Callable[[Flags, Iterable[bytes], Evidence], Verified]
    check_receipt: Callable[[Flags, str, str | None], ReceiptChecked]
    restore: Restore
    # By address and key; with True the server only simulates, and writes nothing.
    remote: Callable[[str, str, bool], AbstractContextManager[Answering]]

    def evaluate(
        self, body: bytes, *, policy: Policy, trust: Trust | None = None, dialect: str = AUTO
    ) -> Evaluation:
        """Judge a body and give the verdict an id and a time; nothing is recorded."""
        intent = self.judge.read(body, dialect)
        verdict = self.judge.assess(intent, policy=policy, vouched=Vouched(trust=trust))
        now_ms = self.clock.now_ms()
        return Evaluation(
            intent=intent,
            verdict=verdict,
            verdict_id=ids.verdict_id(now_ms, self.entropy.draw(ids.ENTROPY_BYTES)),
            timestamp=utc(now_ms),
        )


def utc(now_ms: int) -> str:
    """Return a time as the wire writes it: UTC, whole milliseconds, ending in Z."""
    seconds, milliseconds = divmod(now_ms, 1000)
    return f"{_second(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
