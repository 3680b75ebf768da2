"""Every call a client makes, described once: what is sent, and how its answer is read.

Owns addresses and bodies. It sends nothing itself: the two shells in `avow.clients.http` do, one
blocking and one not, and both hold the same conversation.

Clauses: IRL-6.14.
"""

import json
import re
import secrets
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from avow.clients import answers
from avow.clients.answers import TEXT, Answer
from avow.clients.conversation import TRIES, Call
from avow.clients.signing import SigningKey
from avow.clients.streams import Export, Follow
from avow.core.errors import MalformedError, Problem
from avow.dialects import reading

T = TypeVar("T")
Record = bytes | str | dict[str, Any]
_ADDED = frozenset({201})
_GONE = frozenset({204})
_VERDICT = frozenset({200, 202, 403})
_KEY = re.compile(r"[\x21-\x7e]{1,512}")
_REPEATED = re.compile(r"[\x20-\x7e]{1,200}")
_SCHEMES = ("http", "https")


class Calls:
    """The calls of one client, by name; each returns a description and sends nothing."""

    __slots__ = ("_signing_key",)

    def __init__(self, signing_key: SigningKey | None = None) -> None:
        self._signing_key = signing_key

    def evaluate(self, record: Record, *, idempotency_key: str | None = None) -> Call[Answer]:
        """Declare a record and return the verdict, which the journal then holds.

        A DENY is an answer and no error. A lost connection or an unavailable server is tried again
        under one idempotency key, so that no declaration is judged twice.
        """
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        if not _REPEATED.fullmatch(key):
            raise _wrong("idempotency_key", "expected 1 to 200 printable ASCII characters")
        return Call(
            method="POST",
            path="/v1/evaluate",
            body=self._body(record),
            headers={"Idempotency-Key": key},
            statuses=_VERDICT,
            read=answers.evaluated,
            tries=TRIES,
        )

    def simulate(self, record: Record) -> Call[Answer]:
        """Return the verdict a record would get now; nothing is written and nothing is allowed."""
        return Call(
            method="POST",
            path="/v1/simulate",
            body=self._body(record),
            read=answers.simulated,
        )

    def verdict(self, verdict_id: str, *, wait_s: float = 0) -> Call[Answer]:
        """Return a verdict and where it stands; wait up to so long while a human is asked."""
        return Call(
            path=f"/v1/verdicts/{_part(verdict_id)}",
            query={"wait": f"{wait_s:g}"} if wait_s else {},
            read=lambda heard: answers.standing(heard, verdict_id),
            wait_s=wait_s,
        )

    def redeem(self, verdict_id: str) -> Call[answers.Permit]:
        """Turn an allowed verdict into a permit, once; it is judged again first."""
        return Call(
            method="POST",
            path=f"/v1/verdicts/{_part(verdict_id)}/redeem",
            read=lambda heard: answers.permit(heard, verdict_id),
        )

    def outcome(self, verdict_id: str, ended: str, note: str = "") -> Call[int]:
        """Tell what came of a verdict, once: done, failed or abandoned; return the position."""
        return Call(
            method="POST",
            path=f"/v1/verdicts/{_part(verdict_id)}/outcome",
            body=_json({"ended": ended, "note": note}),
            read=lambda heard: int(answers.member(heard.body)["position"]),
        )

    def agents(self) -> Call[tuple[answers.RegisteredAgent, ...]]:
        """Return the registered agents."""
        return Call(
            path="/v1/agents", read=lambda heard: answers.listed(answers.RegisteredAgent, heard)
        )

    def add_agent(
        self, agent_id: str, trust: str = "low", did: str | None = None
    ) -> Call[answers.RegisteredAgent]:
        """Register an agent; its key is in the answer and nowhere else."""
        return _adding(
            "agents", {"id": agent_id, "trust": trust, "did": did}, answers.RegisteredAgent
        )

    def revoke_agent(self, agent_id: str) -> Call[None]:
        """Revoke an agent: its key stops working at once."""
        return _removing(f"/v1/agents/{_part(agent_id)}")

    def people(self) -> Call[tuple[answers.RegisteredPerson, ...]]:
        """Return the registered people."""
        return Call(
            path="/v1/people", read=lambda heard: answers.listed(answers.RegisteredPerson, heard)
        )

    def add_person(
        self, person_id: str, roles: list[str] | tuple[str, ...]
    ) -> Call[answers.RegisteredPerson]:
        """Register a person; their key is in the answer and nowhere else."""
        return _adding("people", {"id": person_id, "roles": list(roles)}, answers.RegisteredPerson)

    def revoke_person(self, person_id: str) -> Call[None]:
        """Revoke a person; the last admin stays."""
        return _removing(f"/v1/people/{_part(person_id)}")

    def breakers(self) -> Call[tuple[answers.OpenBreaker, ...]]:
        """Return the breakers that are open."""
        return Call(
            path="/v1/breakers", read=lambda heard: answers.listed(answers.OpenBreaker, heard)
        )

    def close_breaker(self, agent: str, means: str) -> Call[None]:
        """Close a breaker by hand."""
        return _removing(f"/v1/breakers/{_part(means)}/{_part(agent)}")

    def journal(self, after: int = 0, most: int = 100) -> Call[answers.Page]:
        """Return a page of the journal, behind a position."""
        query = {"after": str(after), "most": str(most)}
        return Call(path="/v1/journal", query=query, read=answers.page)

    def export_journal(self) -> Export:
        """Yield the lines of the journal's export, for `verify_journal`; all of them, or raise."""
        return Export()

    def events(self, after: int = 0) -> Follow:
        """Yield position and body of each entry behind a position, as it is written, without end.

        A connection that drops is taken up where it stopped. To see only what is new, start behind
        `ready().journal`.
        """
        return Follow(after)

    def checkpoint(self) -> Call[str]:
        """Return the newest signed checkpoint, to be kept elsewhere as an anchor."""
        return _text("/v1/journal/checkpoint")

    def keys(self) -> Call[str]:
        """Return the ring of public keys; one you trust comes from elsewhere than the journal."""
        return _text("/v1/journal/keys")

    def receipt(self, what: str | int) -> Call[str]:
        """Return the receipt of an entry, by position or by the id of a verdict."""
        return Call(
            path=f"/v1/journal/receipt/{_part(str(what))}",
            read=answers.verbatim,
        )

    def consistency(self, first: int, second: int) -> Call[tuple[str, ...]]:
        """Return the path from the journal of `first` entries to that of `second`, in hex."""
        return Call(
            path="/v1/journal/proof",
            query={"first": str(first), "second": str(second)},
            read=lambda heard: tuple(map(str, answers.member(heard.body)["path"])),
        )

    def policy(self) -> Call[dict[str, Any]]:
        """Return the policy in force."""
        return Call(path="/v1/policy", read=lambda heard: answers.member(heard.body))

    def conformance(self) -> Call[dict[str, Any]]:
        """Return how many clauses of the specifications are met, by the server's own word."""
        return Call(path="/v1/conformance", read=lambda heard: answers.member(heard.body))

    def ready(self) -> Call[answers.Readiness]:
        """Return whether declarations can be judged and recorded; raise `FaultError` if not."""
        return Call(
            path="/readyz",
            read=lambda heard: answers.shaped(answers.Readiness, answers.member(heard.body)),
        )

    def _body(self, record: Record) -> bytes:
        """Return the bytes to send; with a signing key every record is signed, and anew."""
        if self._signing_key is None:
            return _encoded(record)
        if not isinstance(record, dict):
            body = _encoded(record)
            record = reading.admit(body, reading.Limits(size_bytes_max=len(body)))
        return _json(self._signing_key.sign(record) if isinstance(record, dict) else record)


def check_address(url: str, key: str) -> None:
    """Raise unless a client can be pointed there; neither value is ever quoted."""
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        is_known = plain = False
    if not is_known or not plain:
        raise _wrong("url", "expected http(s)://HOST[:PORT], without a name or password in it")
    if not _KEY.fullmatch(key):
        raise _wrong("key", "expected a key as it was printed, without blanks")


def _adding(where: str, wanted: dict[str, Any], kind: type[T]) -> Call[T]:
    return Call(
        method="POST",
        path=f"/v1/{where}",
        body=_json(wanted),
        statuses=_ADDED,
        read=lambda heard: answers.added(kind, heard),
    )


def _removing(path: str) -> Call[None]:
    return Call(method="DELETE", path=path, statuses=_GONE, kind="", read=lambda _: None)


def _text(path: str) -> Call[str]:
    return Call(path=path, kind=TEXT, read=lambda heard: heard.body.decode("utf-8"))


def _part(name: str) -> str:
    """Return a name as one part of an address."""
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        pass
    raise _wrong("id", "the text holds half a surrogate pair")


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        pass
    problem = Problem(
        "", "declaration.not_json", "the record holds something that JSON has no form for"
    )
    raise MalformedError("declaration.unreadable", [problem])


def _encoded(record: Record) -> bytes:
    if not isinstance(record, str):
        return record if isinstance(record, bytes) else _json(record)
    try:
        return record.encode("utf-8")
    except UnicodeEncodeError:
        pass
    problem = Problem("", "declaration.bad_text", "the text holds half a surrogate pair")
    raise MalformedError("declaration.unreadable", [problem])


def _wrong(path: str, message: str) -> MalformedError:
    return MalformedError("settings.invalid", [Problem(path, "settings.invalid", message)])
