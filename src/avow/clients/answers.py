"""What a server answers, as frozen values.

Owns the reading of answers: strictly where permission hangs on it, and whatever does not read as an
answer of Avow raises one of `UNREADABLE`, which whoever calls these functions turns into a fault.
Members that this version does not know are left in `raw`. Errors are in `refusals`.

Clauses: IRL-5.17, IRL-5.18.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from avow.core.words import Level, Outcome

T = TypeVar("T")
# What reading something that is no answer may raise.
UNREADABLE = (ValueError, LookupError, TypeError, RecursionError)
JSON, TEXT = "application/json", "text/plain"
_LEVELS = {level.word: level for level in Level}
_SCORE_MAX = 100
# The status of a recorded verdict; an answer whose status says otherwise is no answer.
_STATUS = {Outcome.ALLOW: 200, Outcome.LOG_ALLOW: 200, Outcome.GATE: 202, Outcome.DENY: 403}
_STATES = {
    Outcome.ALLOW: "allowed",
    Outcome.LOG_ALLOW: "allowed",
    Outcome.GATE: "waiting",
    Outcome.DENY: "denied",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """An HTTP answer, of whoever it may be; `kind` is its media type without parameters."""

    status: int
    kind: str
    body: bytes
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class FindingShown:
    """One finding of a verdict, as it is answered."""

    id: str
    slug: str
    floor: Outcome
    step: bool
    says: str
    hint: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the journal holds an entry."""

    position: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answers to a record.

    `allowed` is the question to ask; an answer has no truth value of its own, because `if answer:`
    would let a denial through. `state` is where the verdict stands: allowed, waiting, denied,
    redeemed, lapsed, expired, or simulated. `verdict_id` is empty and `journal` is None where
    nothing was recorded.
    """

    verdict_id: str
    outcome: Outcome
    state: str
    score: int
    level: Level
    reasons: tuple[str, ...]
    findings: tuple[FindingShown, ...]
    policy_triggered: str
    reason: str
    digest: str
    journal: Place | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        raise TypeError("an answer is neither true nor false: ask `answer.allowed`")

    @property
    def allowed(self) -> bool:
        """Return whether the action may go ahead now; what was only simulated never may."""
        return self.outcome <= Outcome.LOG_ALLOW and self.state == "allowed"

    @property
    def requires_human(self) -> bool:
        """Return whether a human is asked."""
        return self.outcome is Outcome.GATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """What a redeemed verdict grants: this digest, by this agent, until then.

    `token` is the fencing token, larger for every later permit. `raw` is the whole of it with its
    signature; this class does not check that signature.
    """

    verdict_id: str
    digest: str
    agent: str
    principal: str
    token: int
    issued_ms: int
    expires_ms: int
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAgent:
    """A registered agent; `key` is there when it was just made, and never again."""

    id: str
    trust: str
    did: str | None
    added: str
    revoked: str | None
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPerson:
    """A registered person; `key` is there when it was just made, and never again."""

    id: str
    roles: tuple[str, ...]
    added: str
    revoked: str | None
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBreaker:
    """A breaker that is open."""

    agent: str
    means: str
    opened: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One entry of the journal."""

    position: int
    hash: str
    previous: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the journal; `next` is what to ask for behind it, None at the end."""

    origin: str
    size: int
    entries: tuple[JournalEntry, ...]
    next: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether declarations can be judged and recorded now: `ready` or `degraded`."""

    status: str
    journal: int
    unanchored: int


def member(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds; a repeated member could be read in two ways."""
    found = value(body)
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def value(body: bytes) -> Any:
    """Return the JSON value that a body holds."""
    return json.loads(body, object_pairs_hook=_distinct)


def evaluated(heard: Heard) -> Answer:
    """Return the answer to a record that was judged and recorded."""
    found = _answer(member(heard.body))
    if heard.status != _STATUS[found.outcome] or found.journal is None or not found.verdict_id:
        raise ValueError("status, verdict and journal do not fit together")
    return found


def simulated(heard: Heard) -> Answer:
    """Return the answer to a record that was judged and not recorded."""
    found = _answer(member(heard.body))
    if found.state != "simulated":
        raise ValueError("not simulated")
    return found


def standing(heard: Heard, verdict_id: str) -> Answer:
    """Return a verdict that was asked for by its id."""
    found = _answer(member(heard.body))
    if found.verdict_id != verdict_id or found.raw.get("x_state") != found.state:
        raise ValueError("another verdict")
    return found


def permit(heard: Heard, verdict_id: str) -> Permit:
    """Return the permit of a verdict that was redeemed."""
    raw = member(heard.body)
    content = {**raw["permit"], "verdict_id": raw["permit"]["verdict"], "raw": raw}
    found = shaped(Permit, content)
    if found.verdict_id != verdict_id:
        raise ValueError("the permit of another verdict")
    return found


def listed(kind: type[T], heard: Heard) -> tuple[T, ...]:
    """Return a list of values of one kind."""
    return tuple(shaped(kind, one) for one in value(heard.body))


def page(heard: Heard) -> Page:
    """Return a page of the journal."""
    raw = member(heard.body)
    entries = tuple(shaped(JournalEntry, one) for one in raw["entries"])
    return shaped(Page, {**raw, "entries": entries})


def added(kind: type[T], heard: Heard) -> T:
    """Return what was registered, with the key that is shown this once."""
    raw = member(heard.body)
    if not raw["key"]:
        raise ValueError("no key")
    return shaped(kind, raw)


def verbatim(heard: Heard) -> str:
    """Return a JSON object as the text it came as."""
    member(heard.body)
    return heard.body.decode("utf-8")


def shaped(kind: type[T], given: dict[str, Any]) -> T:
    """Return a value of a dataclass from an object; members it does not know are left out."""
    hints = get_type_hints(kind)
    taken = {
        name: tuple(one) if isinstance(one, list) else one
        for name, one in given.items()
        if name in hints
    }
    for name, one in taken.items():
        if not _is(one, hints[name]):
            raise TypeError(f"{name} is of another type")
    return kind(**taken)


def _answer(raw: dict[str, Any]) -> Answer:
    """Return an answer in the words of IRL.

    1. Outcome and level are words we know, the score is a whole number from 0 to 100.
    2. What is said twice is said alike.
    3. A verdict without an entry is called simulated, and permits nothing.
    """
    # 1
    outcome, risk = Outcome[raw["decision"]], raw["risk"]
    score, level = risk["score"], _LEVELS[risk["level"]]
    if type(score) is not int or not 0 <= score <= _SCORE_MAX:
        raise ValueError("a score outside its bounds")
    # 2
    if raw["requires_human"] is not (outcome is Outcome.GATE):
        raise ValueError("two words about the human")
    # 3
    journal = None if raw["journal"] is None else shaped(Place, raw["journal"])
    is_simulated = journal is None or raw.get("x_simulated", False) is not False
    state = "simulated" if is_simulated else str(raw.get("x_state", _STATES[outcome]))
    return Answer(
        verdict_id=str(raw["verdict_id"] or ""),
        outcome=outcome,
        state=state,
        score=score,
        level=level,
        reasons=tuple(map(str, risk["reasons"])),
        findings=tuple(_finding(one) for one in raw["findings"]),
        policy_triggered=str(raw["policy_triggered"]),
        reason=str(raw["reason"]),
        digest=str(raw["x_digest"]),
        journal=journal,
        raw=raw,
    )


def _finding(given: dict[str, Any]) -> FindingShown:
    return shaped(FindingShown, {**given, "floor": Outcome[given["floor"]]})


def _is(one: Any, hint: Any) -> bool:
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    # True is an int to Python and none to JSON.
    return type(one) in options or (
        not isinstance(one, bool) and any(isinstance(one, get_origin(o) or o) for o in options)
    )


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a repeated member")
    return found
