"""The drill: public incidents replayed through the judge, to see what would have stopped them.

Owns the shape of an incident and the comparison with what would have helped. Executes nothing.

Clauses: IRL-1.04.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from avow.core.verdict import Verdict
from avow.core.words import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that really happened, and the record its actor would have declared."""

    id: str
    title: str
    when: str
    what: str
    source: str
    at_least: Outcome
    record: bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """One incident with its verdict."""

    incident: Incident
    verdict: Verdict

    @property
    def held(self) -> bool:
        """Return whether the verdict is at least what would have helped."""
        return self.verdict.outcome >= self.incident.at_least


def read(parsed: dict[str, Any]) -> tuple[Incident, ...]:
    """Return the incidents of a parsed file."""
    return tuple(
        Incident(
            id=entry["id"],
            title=entry["title"],
            when=entry["when"],
            what=entry["what"],
            source=entry["source"],
            at_least=Outcome[entry["at_least"]],
            record=json.dumps(entry["record"]).encode("utf-8"),
        )
        for entry in parsed["incidents"]
    )


def replay(incidents: Iterable[Incident], judge: Callable[[bytes], Verdict]) -> tuple[Replay, ...]:
    """Judge every incident's record and keep the verdicts."""
    return tuple(Replay(incident, judge(incident.record)) for incident in incidents)
