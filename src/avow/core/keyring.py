"""The key ring: the public keys that sign checkpoints, as a text that people read and pass on.

Owns the text (one line for each key, in the verifier-key form of C2SP notes, with what became of
the key behind it) and how a ring changes: keys are added, retired and called compromised, and never
removed, because old checkpoints stay verifiable only with the keys that signed them. It neither
signs nor checks a signature, and it does not know which checkpoints exist.

Clauses: ICNLI-12.5.04.
"""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from avow.core.checkpoint import key_id
from avow.core.errors import MalformedError, Problem

KEY_BYTES = 32
SIZE_MAX = 10**16 - 1
_CODE = "keyring.invalid"
_ED25519 = b"\x01"
# 33 bytes are exactly 44 characters of base64: a key has one spelling. A name may hold neither
# blanks nor a plus, which end it, nor half a surrogate pair, which has no bytes.
_NAME = re.compile(r"[^\s+\ud800-\udfff]+")
_KEY = re.compile(rf"({_NAME.pattern})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]{{44}})")
_BEHIND = re.compile(r"| (retired)| (compromised) (0|[1-9][0-9]{0,15})")
_NOT_A_KEY = "a key is a name, its id in 8 hex digits and 44 characters of base64, joined by plus"
_NOT_A_STATE = "behind a key stands nothing, `retired`, or `compromised` and a size"


class KeyState(Enum):
    """What became of a key, with the word that stands behind it in the text."""

    IN_USE = ""
    RETIRED = "retired"
    COMPROMISED = "compromised"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierKey:
    """One public key with the name under which it signs.

    `compromised_at` is the size of the journal when the compromise was declared, and 0 otherwise.
    It tells a reader where to look and grants nothing: whoever has the key can sign a checkpoint of
    any size and any time.
    """

    name: str
    public: bytes
    state: KeyState = KeyState.IN_USE
    compromised_at: int = 0

    def __post_init__(self) -> None:
        problems = [Problem("", _CODE, told) for told in _faults(self)]
        if problems:
            raise MalformedError(_CODE, problems)

    @property
    def id(self) -> bytes:
        """Return the four bytes that name the key on a note."""
        return key_id(self.name, self.public)

    def written(self) -> str:
        """Return the key's line, without its end."""
        encoded = base64.b64encode(_ED25519 + self.public).decode("ascii")
        behind = f" {self.state.value}" if self.state.value else ""
        size = f" {self.compromised_at}" if self.state is KeyState.COMPROMISED else ""
        return f"{self.name}+{self.id.hex()}+{encoded}{behind}{size}"

    def content(self) -> dict[str, str]:
        """Return what the journal's own record says when the key comes to be in this state."""
        state = self.state.value or "added"
        return {"kind": "key", "name": self.name, "public": self.public.hex(), "state": state}


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys in the order they were added; several may share a name, no key stands here twice."""

    keys: tuple[VerifierKey, ...] = ()

    def __post_init__(self) -> None:
        problems = list(_twice([("", key) for key in self.keys]))
        if problems:
            raise MalformedError(_CODE, problems)

    def written(self) -> str:
        """Return the text of the ring."""
        return "".join(f"{key.written()}\n" for key in self.keys)


def read(text: str) -> KeyRing:
    """Return the ring that a text holds, or raise with every problem and its line.

    Empty lines are skipped, and an empty text is a ring without keys: with it nothing is trusted.
    """
    problems: list[Problem] = []
    found: list[tuple[str, VerifierKey]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line:
            path, (key, told) = f"line {number}", _line(line)
            problems += [Problem(path, _CODE, message) for message in told]
            found += [] if key is None else [(path, key)]
    problems += _twice(found)
    if problems:
        raise MalformedError(_CODE, problems)
    return KeyRing(tuple(key for _, key in found))


def rotated(ring: KeyRing, *, name: str, public: bytes) -> KeyRing:
    """Return the ring with a new key in use; the keys in use under the same name are retired.

    A compromised key stays compromised, and keys of other names stay what they are.
    """
    retired = {
        key: replace(key, state=KeyState.RETIRED)
        for key in ring.keys
        if key.name == name and key.state is KeyState.IN_USE
    }
    kept = (retired.get(key, key) for key in ring.keys)
    return KeyRing((*kept, VerifierKey(name=name, public=public)))


def compromised(ring: KeyRing, *, public: bytes, size: int) -> KeyRing:
    """Return the ring with that key called compromised, declared at that size of the journal.

    It is never taken back, and a second declaration can only widen the first.
    """
    if public not in {key.public for key in ring.keys}:
        raise MalformedError(_CODE, [Problem("", _CODE, "the key ring does not hold that key")])
    return KeyRing(
        tuple(
            replace(
                key,
                state=KeyState.COMPROMISED,
                compromised_at=max(size, key.compromised_at),
            )
            if key.public == public
            else key
            for key in ring.keys
        )
    )


def _faults(key: VerifierKey) -> Iterator[str]:
    if not _NAME.fullmatch(key.name):
        yield "the name of a key holds no blanks and no plus, and is not empty"
    if len(key.public) != KEY_BYTES:
        yield "a public key has 32 bytes"
    if not 0 <= key.compromised_at <= SIZE_MAX:
        yield "a size has up to 16 digits"
    if key.compromised_at and key.state is not KeyState.COMPROMISED:
        yield "only a compromised key has a size"


def _twice(found: list[tuple[str, VerifierKey]]) -> Iterator[Problem]:
    """Tell of each key that stands there again, under whatever name.

    Under a second name a stolen key would still count as good.
    """
    seen: set[bytes] = set()
    for path, key in found:
        if key.public in seen:
            yield Problem(path, _CODE, f"the key of `{key.name}` stands there twice")
        seen.add(key.public)


def _line(line: str) -> tuple[VerifierKey | None, list[str]]:
    """Return the key of one line, or everything that is wrong with the line."""
    written, blank, rest = line.partition(" ")
    match, behind = _KEY.fullmatch(written), _BEHIND.fullmatch(blank + rest)
    told = [_NOT_A_KEY] if match is None else list(_misfits(match))
    told += [_NOT_A_STATE] if behind is None else []
    if match is None or behind is None or told:
        return None, told
    key = VerifierKey(
        name=match[1],
        public=base64.b64decode(match[3])[1:],
        state=KeyState(behind[1] or behind[2] or ""),
        compromised_at=int(behind[3] or 0),
    )
    return key, []


def _misfits(match: re.Match[str]) -> Iterator[str]:
    decoded = base64.b64decode(match[3])
    if decoded[:1] != _ED25519:
        yield "the key is not one of Ed25519, which starts with the byte 1"
    elif key_id(match[1], decoded[1:]).hex() != match[2]:
        yield f"the id `{match[2]}` does not fit the name and the key"
