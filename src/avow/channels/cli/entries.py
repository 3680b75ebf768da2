"""What a person is shown of an entry: who did what.

Names by an agent come with everything invisible written out.
"""

import json
from collections.abc import Callable
from typing import Any

from avow.core.journal import Entry
from avow.core.untrusted import show
from avow.engine.desk import utc

# Which member of a body names the one who acted, best first.
_ACTORS = ("by", "principal", "agent")
# One phrase for each kind of entry; other kinds are shown by their state, if they have one.
_PHRASES: dict[str, Callable[[dict[str, Any]], str]] = {
    "genesis": lambda body: f"journal {body['origin']} begins, written by {body['version']}",
    "verdict": lambda body: (
        f"{body['outcome']} for {', '.join(body['means'])} by {body['agent']}:"
        f" {body['decided_by']}, {body['level']} risk {body['score']}, {body['verdict']}"
    ),
    "redemption": lambda body: f"redeemed {body['verdict']}",
    "outcome": lambda body: f"{body['ended']}: {body['verdict']}",
    "agent": lambda body: f"{body['state']} agent {body['agent']}",
    "person": lambda body: f"{body['state']} person {body['person']}",
    "policy": lambda body: f"adopted policy {body['name']} {body['version']}",
    "breaker": lambda body: f"breaker {body['state']}: {body['means']} by {body['agent']}",
    "key": lambda body: f"{body['state']} key {body['public'][:16]} of {body['name']}",
    "erasure": lambda body: f"erased the text {body['field']} of entry {body['entry']}",
    "restored": lambda body: (
        f"restored {body['kept']} entries in place of {body['abandoned']['size']}"
    ),
}


def value(entry: Entry) -> dict[str, Any]:
    """Return an entry as data, with the same names as the HTTP answer has."""
    return {
        "position": entry.position,
        "hash": entry.hash,
        "previous": entry.previous,
        "body": json.loads(entry.body),
    }


def row(entry: Entry) -> tuple[str, str, str, str, str]:
    """Return position, time, kind, who and what, as they are shown."""
    body = json.loads(entry.body)
    kind = str(body.get("kind", "?"))
    who = next((str(body[name]) for name in _ACTORS if name in body), "-")
    try:
        what = _PHRASES[kind](body)
    except (KeyError, TypeError, IndexError):
        # A kind of a later version, or a body that is not what was written: shown all the same.
        what = str(body.get("state", "-"))
    at = body.get("at")
    time = utc(at) if isinstance(at, int) else "-"
    return str(entry.position), time, show(kind), show(who), show(what)
