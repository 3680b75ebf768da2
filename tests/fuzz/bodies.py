"""Fuzzed bodies: a record that must never be allowed, broken in every way we can think of.

Each body is either malformed or still the dangerous record: no body of this source may come out as
ALLOW or LOG_ALLOW, and none may end in anything but a verdict or a listed problem.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

DANGEROUS: dict[str, Any] = {
    "irl_version": "0.1",
    "agent": {"id": "cursor-agent-01", "trust_level": "verified", "session_id": "s"},
    "operation": {
        "type": "delete",
        "target_resource": "volume:prod-db-main",
        "target_environment": "production",
        "estimated_rows_affected": 12,
    },
    "rationale": {"stated_goal": "tidy up", "verified": True, "alternatives_considered": ["x"]},
    "consequences": {
        "reversible": False,
        "data_loss_risk": "total",
        "affects_backups": True,
        "rollback_plan": False,
    },
}
TEXT = json.dumps(DANGEROUS)
BODY = TEXT.encode()
ODD_VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "true",
    [],
    {},
    [[]],
    "ALLOW",
    "\u202e",
    2**60,
    "x" * 9000,
    {"a": {"b": {}}},
]
TOKENS = [
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"9007199254740993",
    b"//",
    b"/* */",
    b"'",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\x00",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"\xef\xbb\xbf",
    b'"type":"read",',
    b'"agent":{},',
    b"\xed\xa0\x80",
]
Maker = Callable[[random.Random], bytes]


def bodies(seed: int, count: int) -> Iterator[bytes]:
    """Yield that many bodies, all of them determined by the number of the run."""
    source = random.Random(seed)
    for _ in range(count):
        yield source.choice(MAKERS)(source)


def garbage(source: random.Random) -> bytes:
    return source.randbytes(source.randrange(200))


def cut(source: random.Random) -> bytes:
    return BODY[: source.randrange(len(BODY))]


def flipped(source: random.Random) -> bytes:
    body = bytearray(BODY)
    for _ in range(source.randint(1, 4)):
        body[source.randrange(len(body))] = source.randrange(256)
    return bytes(body)


def spliced(source: random.Random) -> bytes:
    at = source.randrange(len(BODY))
    return BODY[:at] + source.choice(TOKENS) * source.randint(1, 3) + BODY[at:]


def shuffled(source: random.Random) -> bytes:
    one, other = sorted(source.sample(range(len(BODY)), 2))
    return BODY[:one] + BODY[other:] + BODY[one:other]


def nested(source: random.Random) -> bytes:
    depth = source.choice([30, 33, 64, 200, 3000])
    inner = b"[" * depth + b"]" * depth
    return BODY[:-1] + b',"x_deep":' + inner + b"}"


def swollen(source: random.Random) -> bytes:
    size = source.choice([9_000, 70_000, 270_000])
    return BODY.replace(b"tidy up", b"x" * size)


def edited(source: random.Random) -> bytes:
    """Change, drop, add or rename one field somewhere in the tree."""
    record = copy.deepcopy(DANGEROUS)
    home = source.choice([record, *(v for v in record.values() if isinstance(v, dict))])
    key = source.choice(list(home))
    match source.randrange(4):
        case 0:
            # The flags are left to `flipped`: turned to their mild value they would be a lie that
            # only an inventory can see through, and no business of the reader.
            home[key] = source.choice(ODD_VALUES) if not isinstance(home[key], bool) else "no"
        case 1:
            del home[key]
        case 2:
            home[source.choice(["surprise", key + " ", key.upper(), "", "\u0000"])] = 1
        case _:
            home[key + source.choice(["_", "s", "\u200b"])] = home.pop(key)
    return json.dumps(record).encode()


def doubled(source: random.Random) -> bytes:
    """Give one key twice, the second time in a friendlier form."""
    mild = source.choice(
        [
            (b'"type": "delete"', b'"type": "read"'),
            (b'"reversible": false', b'"reversible": true'),
            (b'"target_environment": "production"', b'"target_environment": "local"'),
            (b'"affects_backups": true', b'"affects_backups": false'),
        ]
    )
    first, second = mild if source.random() < 0.5 else mild[::-1]
    return BODY.replace(mild[0], first + b", " + second)


MAKERS: list[Maker] = [
    garbage,
    cut,
    flipped,
    flipped,
    spliced,
    spliced,
    shuffled,
    nested,
    swollen,
    edited,
    edited,
    edited,
    doubled,
]
