"""Checkpoints: the size, root and head of a journal at one moment, as a signed note.

Owns the text (the checkpoint form of C2SP, with the head of the chain and the time as extension
lines) and the note around it. It neither signs nor checks a signature: keys are an adapter's.

Clauses: ICNLI-12.5.04.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from avow.core.errors import MalformedError, Problem

_KEY_ID_BYTES = 4
_ED25519 = b"\x01"
_ROOT_BYTES = 32
_SIGNATURE = re.compile(r"— (\S+) (\S+)")
_HEAD = re.compile(r"chain ([0-9a-f]{64})")
_TIME = re.compile(r"time (0|[1-9][0-9]{0,15})")
_SIZE = re.compile(r"0|[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was true of a journal: so many entries, this root, this last hash, at this time."""

    origin: str
    size: int
    root: bytes
    head: str
    at_ms: int

    def text(self) -> str:
        """Return the text that is signed."""
        root = base64.b64encode(self.root).decode("ascii")
        return f"{self.origin}\n{self.size}\n{root}\nchain {self.head}\ntime {self.at_ms}\n"


@dataclass(frozen=True, slots=True)
class Signed:
    """One signature line of a note; `key_id` tells which key it claims to be by."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A text with its signatures; nothing is said about whether they are good."""

    text: str
    signed: tuple[Signed, ...]

    def written(self) -> str:
        """Return the note as it is stored and sent."""
        lines = [
            f"— {one.name} {base64.b64encode(one.key_id + one.signature).decode('ascii')}\n"
            for one in self.signed
        ]
        return f"{self.text}\n{''.join(lines)}"


def key_id(name: str, public_key: bytes) -> bytes:
    """Return the short name of an Ed25519 key on a note."""
    hashed = hashlib.sha256(name.encode("utf-8") + b"\n" + _ED25519 + public_key).digest()
    return hashed[:_KEY_ID_BYTES]


def read_note(written: str) -> Note:
    """Return the note, or raise; every line after the blank one must be a signature."""
    text, blank, signatures = written.partition("\n\n")
    lines = signatures.split("\n")
    if not blank or len(lines) < 2 or lines[-1] != "":  # noqa: PLR2004 - one line and its end
        raise _malformed("a note is a text, a blank line and signature lines")
    return Note(text + "\n", tuple(_signature(line) for line in lines[:-1]))


def read(text: str) -> Checkpoint:
    """Return the checkpoint that the text of a note holds, or raise."""
    lines = text.split("\n")
    if len(lines) != 6 or lines[-1] != "" or not lines[0]:  # noqa: PLR2004 - five lines and an end
        raise _malformed("a checkpoint has five lines")
    origin, size, root, head, time = lines[:5]
    found_head, found_time = _HEAD.fullmatch(head), _TIME.fullmatch(time)
    if not _SIZE.fullmatch(size) or found_head is None or found_time is None:
        raise _malformed("size, chain or time of the checkpoint cannot be read")
    decoded = _decoded(root)
    if len(decoded) != _ROOT_BYTES:
        raise _malformed("the root of a checkpoint has 32 bytes")
    return Checkpoint(origin, int(size), decoded, found_head.group(1), int(found_time.group(1)))


def _signature(line: str) -> Signed:
    match = _SIGNATURE.fullmatch(line)
    if match is None:
        raise _malformed("a signature line starts with a dash, a name and base64")
    decoded = _decoded(match.group(2))
    if len(decoded) <= _KEY_ID_BYTES:
        raise _malformed("a signature line is too short")
    return Signed(match.group(1), decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _malformed("base64 that cannot be decoded") from None


def _malformed(message: str) -> MalformedError:
    code = "checkpoint.invalid"
    return MalformedError(code, [Problem("", code, message)])
