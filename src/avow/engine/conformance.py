"""The clause register: what five specifications ask, and how far each clause is met.

Owns the joining of clauses with their status and the counting. `open` is the default: a clause
counts as met only where the status file says so, and a test in the tidy suite holds it to that.
The result is a self-declaration; nothing here certifies anything.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How far a clause is met."""

    MET = "met"
    PARTIAL = "partial"
    DECLINED = "declined"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One testable requirement with its status; `why` explains anything but met and open."""

    id: str
    spec: str
    section: str
    keyword: str
    text: str
    status: Status
    code: tuple[str, ...]
    why: str

    @property
    def is_open_must(self) -> bool:
        """Return whether this is an obligation that is not entirely met or declined."""
        return self.keyword == "MUST" and self.status in (Status.OPEN, Status.PARTIAL)


@dataclass(frozen=True, slots=True)
class Register:
    """All clauses in the order of the register, and the count of open MUSTs written down."""

    clauses: tuple[Clause, ...]
    open_musts_recorded: int

    @property
    def open_musts(self) -> int:
        """Return how many MUST clauses are not entirely met or declined."""
        return sum(clause.is_open_must for clause in self.clauses)

    def counted(self) -> dict[str, Counter[Status]]:
        """Return for each specification how many clauses have which status."""
        table: dict[str, Counter[Status]] = {}
        for clause in self.clauses:
            table.setdefault(clause.spec, Counter())[clause.status] += 1
        return table


def join(clauses: list[Mapping[str, Any]], status: Mapping[str, Any]) -> Register:
    """Return the register that the two parsed files describe; an unknown id is our own bug."""
    known = {clause["id"] for clause in clauses}
    strays = set(status["clauses"]) - known
    if strays:
        raise AssertionError(f"status names clauses that do not exist: {sorted(strays)}")
    joined = tuple(_clause(clause, status["clauses"].get(clause["id"], {})) for clause in clauses)
    return Register(joined, status["ratchet"]["open_musts"])


def _clause(clause: Mapping[str, Any], status: Mapping[str, Any]) -> Clause:
    return Clause(
        id=clause["id"],
        spec=clause["spec"],
        section=clause["section"],
        keyword=clause["keyword"],
        text=" ".join(str(clause["clause"]).split()),
        status=Status(status.get("status", "open")),
        code=tuple(status.get("code", ())),
        why=status.get("why", ""),
    )
