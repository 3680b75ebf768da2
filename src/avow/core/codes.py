"""Every stable code there is, with what it means to a caller and to every door.

`CODES` is the one table: HTTP, the command line and MCP all read it, and `docs/reference/errors.md`
is generated from it. A code is never reused for another meaning.

Clauses: IRL-2.21.
"""

from dataclasses import dataclass
from enum import Enum


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


def _refused(status: int, meaning: str, hint: str) -> Code:
    return Code(Family.REFUSED, status, meaning, hint)


def _conflict(status: int, meaning: str, hint: str) -> Code:
    return Code(Family.CONFLICT, status, meaning, hint)


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
        "the text is not valid UTF-8, escapes half a surrogate pair, or holds U+0000",
        "encode the text as UTF-8, without U+0000",
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
    "keyring.invalid": _malformed(
        422,
        "the text is not a ring of public keys",
        "write one key on each line, as `NAME+ID+KEY`, and each key once",
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
    "backup.not_empty": _malformed(
        422,
        "a copy of the database goes only where nothing is yet",
        "name a folder that is empty or not there for a backup, and a new store for restoring",
    ),
    "backup.damaged": _malformed(
        422,
        "the backup does not verify against the anchor and the keys inside it",
        "`avow journal verify --data FOLDER` tells what is wrong; take another backup",
    ),
    "backup.behind_anchor": _conflict(
        409,
        "the anchor knows entries that the backup does not have; restoring it would lose them",
        "restore a newer backup, or give up those entries with `--lose-entries`",
    ),
    "backup.other_journal": _conflict(
        409,
        "the anchor in place is of another journal than the backup",
        "restore into another data folder, or name another file as `journal.anchor`",
    ),
    "registration.invalid": _malformed(
        422,
        "what was to be registered cannot be read",
        "mend the fields listed under problems",
    ),
    "request.invalid": _malformed(
        422,
        "the request does not have the shape its address asks for",
        "mend the fields listed under problems; /openapi.json has every shape",
    ),
    "request.unreadable": _malformed(
        400, "the request breaks the rules of HTTP", "send it again with an ordinary client"
    ),
    "auth.missing": _refused(
        401,
        "no key was sent",
        "send `Authorization: Bearer KEY`; `avow agents add NAME` makes a key",
    ),
    "auth.unknown": _refused(
        401, "the key is not one of ours", "use the key that was printed when it was made"
    ),
    "auth.revoked": _refused(401, "the key was revoked", "ask an admin for a new agent or person"),
    "auth.forbidden": _refused(
        403, "the key's role does not carry this right", "ask somebody whose role does"
    ),
    "agent.mismatch": _refused(
        403,
        "the record names another agent than the key's",
        "send `agent.id` as the agent was registered; only an admin key speaks for others",
    ),
    "agent.unknown": _refused(
        404, "there is no such active agent", "`avow agents list` shows those there are"
    ),
    "agent.exists": _conflict(
        409, "there is an agent or a person of that id already", "choose another id"
    ),
    "person.unknown": _refused(
        404, "there is no such active person", "`avow people list` shows those there are"
    ),
    "person.exists": _conflict(
        409, "there is an agent or a person of that id already", "choose another id"
    ),
    "person.last_admin": _conflict(
        409, "the last admin cannot be revoked", "add another admin first"
    ),
    "rate.limited": _refused(
        429, "the agent asks faster than its allowance", "wait as long as `Retry-After` says"
    ),
    "queue.full": _refused(
        429, "more declarations wait than the server takes", "wait as long as `Retry-After` says"
    ),
    "signature.stale": _refused(
        403,
        "the time of the signature is outside the window that is accepted",
        "set the clock of the signing machine and sign the record anew",
    ),
    "signature.replayed": _conflict(
        409,
        "a signature with that id was accepted before",
        "sign the record anew; to repeat a request safely send an `Idempotency-Key`",
    ),
    "idempotency.mismatch": _conflict(
        409,
        "the `Idempotency-Key` was used for another declaration",
        "use a fresh key for a fresh declaration",
    ),
    "verdict.unknown": _refused(
        404, "there is no such verdict, or it is somebody else's", "check the id"
    ),
    "verdict.denied": _refused(
        403, "the verdict is DENY and cannot be redeemed", "declare something milder"
    ),
    "verdict.expired": _refused(
        410, "nobody answered the question in time, which rejects it", "declare it again"
    ),
    "verdict.lapsed": _refused(410, "the verdict was not redeemed in time", "declare it again"),
    "verdict.erased": _refused(
        410, "the declaration was erased, so it cannot be judged again", "declare it again"
    ),
    "verdict.hardened": _refused(
        403,
        "judged again in the present situation the declaration is not allowed",
        "look at the rule named, and declare it again when it holds no more",
    ),
    "verdict.waiting": _conflict(409, "a human has not answered yet", "ask again with `?wait=30`"),
    "verdict.redeemed": _conflict(
        409, "the verdict was redeemed before", "declare it again for a second time"
    ),
    "verdict.reported": _conflict(
        409, "the outcome of the verdict was told before", "nothing is to be done"
    ),
    "breaker.not_open": _refused(
        404, "no such breaker is open", "`avow doctor` lists the open ones"
    ),
    "policy.none_in_force": Code(
        Family.FAULT, 503, "no policy was adopted yet; nothing was allowed", "start the server once"
    ),
    "policy.superseded": _conflict(
        409, "another policy was adopted meanwhile", "look at the one in force and adopt again"
    ),
    "journal.nothing_to_erase": _refused(
        404, "the entry has no such text, or it was erased before", "check position and field"
    ),
    "journal.no_such_entry": _refused(
        404, "the journal has no such entry", "positions count from 1 to the journal's size"
    ),
    "journal.unanchored": Code(
        Family.FAULT,
        503,
        "the anchor cannot be written and the unanchored tail is full; nothing was allowed",
        "make the anchor's file writable; it goes on by itself",
    ),
    "journal.rolled_back": Code(
        Family.FAULT,
        503,
        "the journal is not the one its anchor was made over: cut off, restored or rewritten",
        "keep the files as they are, run `avow journal verify`, restore the right backup",
    ),
    "http.host": _refused(
        403,
        "the request names a host this server does not answer for",
        "use the address that was printed, or add the name to `http.hosts`",
    ),
    "http.origin": _refused(
        403,
        "a page from another origin made the request",
        "add the origin to `http.origins` if the page is yours",
    ),
    "http.not_found": _refused(404, "there is nothing at this address", "/openapi.json lists all"),
    "http.method": _refused(
        405, "the address does not take this method", "/openapi.json lists all"
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
    "client.no_answer": Code(
        Family.FAULT,
        503,
        "no answer came from the server; nothing was allowed",
        "check the address and that the server is ready, then ask again with the same key",
    ),
    "fault.internal": Code(
        Family.FAULT,
        500,
        "Avow itself failed; nothing was allowed",
        "report the incident id together with the steps that led to it",
    ),
}
