"""Every error Avow raises, told apart by who has to act.

    AvowError                     never raised itself
    ├── MalformedError            the caller fixes what was sent; every problem with its path
    ├── RefusedError              the caller may not, or not now
    ├── ConflictError             the world moved: read again and retry
    └── FaultError                our side or a dependency; the cause stays behind an incident id

A DENY is not among them: it is a verdict, and verdicts are values.
Codes stand in `avow.core.codes`. Messages are one lower-case sentence without a full stop, what
the user wrote in backticks, and advice in a field of its own.

Clauses: IRL-2.21.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from avow.core.codes import CODES, Family

PROBLEMS_MAX = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with what was sent: where, what, and what to do."""

    path: str
    code: str
    message: str

    @property
    def hint(self) -> str:
        """Return the advice that belongs to the code."""
        return CODES[self.code].hint


class AvowError(Exception):
    """The root of the tree; `code` is a key of `CODES`."""

    family: ClassVar[Family]

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def hint(self) -> str:
        """Return the advice that belongs to the code."""
        return CODES[self.code].hint

    @property
    def status(self) -> int:
        """Return the HTTP status that belongs to the code."""
        return CODES[self.code].status


class MalformedError(AvowError):
    """What was sent cannot be judged; `problems` lists everything that is wrong with it."""

    family = Family.MALFORMED

    def __init__(self, code: str, problems: Iterable[Problem]) -> None:
        given = tuple(problems)
        # An answer is read by somebody: whoever sends ten thousand faults is told of the first.
        self.problems = given[:PROBLEMS_MAX]
        count = len(given)
        listed = "; ".join(f"{p.path}: {p.message}" if p.path else p.message for p in self.problems)
        more = f"; and {count - PROBLEMS_MAX} more" if count > PROBLEMS_MAX else ""
        super().__init__(code, f"{count} problem{'s' if count != 1 else ''}: {listed}{more}")


class RefusedError(AvowError):
    """The caller may not, or not now; `retry_after_ms` tells when it is worth asking again."""

    family = Family.REFUSED

    def __init__(self, code: str, message: str, *, retry_after_ms: int = 0) -> None:
        super().__init__(code, message)
        self.retry_after_ms = retry_after_ms


class ConflictError(AvowError):
    """The world moved under the caller: read again and retry."""

    family = Family.CONFLICT


class FaultError(AvowError):
    """Our side failed. The cause stays with us; `incident`, if any, finds it in the log."""

    family = Family.FAULT

    def __init__(self, code: str = "fault.internal", *, incident: str = "") -> None:
        found = f", incident `{incident}`" if incident else ""
        super().__init__(code, CODES[code].meaning + found)
        self.incident = incident
