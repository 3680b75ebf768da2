"""Every error Avow raises, told apart by who has to act.

    AvowError                     never raised itself
    ├── MalformedError            the caller fixes what was sent; every problem with its path
    ├── RefusedError              the caller may not, or not now
    ├── ConflictError             the world moved: read again and retry
    └── FaultError                our side or a dependency; the cause stays behind an incident id

A DENY is not among them: it is a verdict, and verdicts are values.
`CODES` is the one table of stable codes; HTTP, the command line and MCP all read it, and
`docs/reference/errors.md` is generated from it. A code is never reused for another meaning.
Messages are one lower-case sentence without a full stop, what the user wrote in backticks,
and advice in a field of its own.

Clauses: IRL-2.21.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


class Family(Enum):
    """Who must act, with the exit code of the command line."""

    MALFORMED = 2
    REFUSED = 3
    CONFLICT = 4
    FAULT = 5


@dataclass(frozen=True, slots=True)
class Code:
    """What one stable code means to every door."""

    family: Family
    status: int
    meaning: str
    hint: str


def _malformed(status: int, meaning: str, hint: str) -> Code:
    return Code(Family.MALFORMED, status, meaning, hint)


CODES: dict[str, Code] = {
    "declaration.unreadable": _malformed(
        400,
        "the bytes are not one JSON document",
        "send one JSON object in UTF-8, as `application/json`",
    ),
    "declaration.invalid": _malformed(
        422,
        "the document does not have the shape of its dialect",
        "mend the fields listed under problems and send it again",
    ),
    "declaration.empty": _malformed(400, "nothing was sent", "send one JSON object"),
    "declaration.too_large": _malformed(
        400,
        "the declaration is larger than `limits.declaration_bytes_max`",
        "declare the effects, not the data they carry",
    ),
    "declaration.too_deep": _malformed(
        400,
        "the document nests deeper than `limits.declaration_depth_max`",
        "flatten the document",
    ),
    "declaration.not_json": _malformed(
        400,
        "the text breaks the grammar of JSON",
        "look at the line and column; comments, trailing commas and NaN are not JSON",
    ),
    "declaration.bad_text": _malformed(
        400,
        "the text is not valid UTF-8, or escapes half a surrogate pair",
        "encode the text as UTF-8",
    ),
    "declaration.duplicate_key": _malformed(
        400,
        "an object names the same key twice, so two readers could see two meanings",
        "keep one of the two",
    ),
    "declaration.number_out_of_range": _malformed(
        400,
        "a number is not finite, or lies beyond 2^53 where readers differ about its value",
        "send such a number as a string",
    ),
    "declaration.unknown_dialect": _malformed(
        400,
        "no dialect recognises the document",
        'an intent record starts with "irl_version": "0.1"',
    ),
    "field.missing": _malformed(422, "a required field is missing", "add the field"),
    "field.unknown": _malformed(
        422,
        "the dialect has no such field",
        "check the spelling, or prefix a field of your own with `x_`",
    ),
    "field.wrong_type": _malformed(
        422,
        "a field has the wrong JSON type",
        "send the type the message names, without quotes around true, false or numbers",
    ),
    "field.unknown_value": _malformed(
        422, "a field has a value outside its closed set", "use one of the values listed"
    ),
    "field.out_of_range": _malformed(
        422, "a field is too short, too long, too small or too large", "stay within the limit named"
    ),
    "policy.not_found": _malformed(
        422,
        "there is no such policy file or preset",
        "name a preset (`default`, `irl-0.1`) or the path of a .toml file",
    ),
    "policy.unreadable": _malformed(
        422, "the policy file is not TOML", "look at the line and column"
    ),
    "policy.invalid": _malformed(
        422,
        "the policy file does not describe a policy",
        "mend the entries listed under problems; `avow policy check FILE` lists them all",
    ),
    "policy.relaxing": _malformed(
        422,
        "the policy is softer than the built-in one and does not say so",
        "tighten it, or set `allow_relaxing = true`, which every verdict then shows",
    ),
    "inventory.invalid": _malformed(
        422,
        "a fact about a resource cannot be read",
        "name resources as in a record, environments by their word, and facts by true or false",
    ),
    "identity.invalid": _malformed(
        422,
        "the identifier is not a did:key of an Ed25519 key",
        "use the did:key that was printed when the key was made",
    ),
    "checkpoint.invalid": _malformed(
        422,
        "the text is not a signed checkpoint of a journal",
        "pass the note exactly as it was given out, blank line and signatures included",
    ),
    "cases.invalid": _malformed(
        422,
        "a file of cases does not describe cases",
        "each case needs a name, a record and what it expects",
    ),
    "settings.unknown_key": _malformed(
        422, "there is no such setting", "check the spelling, or take it out"
    ),
    "settings.invalid": _malformed(
        422, "a setting has a value outside its bounds", "choose a value within the bounds named"
    ),
    "settings.unreadable": _malformed(
        422, "the settings file is missing or is not TOML", "look at the line and column"
    ),
    "input.unreadable": _malformed(
        400, "the file cannot be read", "check the path, or use `-` to read standard input"
    ),
    "store.unavailable": Code(
        Family.FAULT,
        503,
        "the store cannot be read or written; nothing was allowed",
        "check the disk and the permissions of the data folder, then try again",
    ),
    "store.incompatible": Code(
        Family.FAULT,
        503,
        "the store was written by another version of Avow, or its library has a known fault",
        "use the version that wrote the data, or restore a backup",
    ),
    "fault.internal": Code(
        Family.FAULT,
        500,
        "Avow itself failed; nothing was allowed",
        "report the incident id together with the steps that led to it",
    ),
}


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
    """The caller may not, or not now."""

    family = Family.REFUSED


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
