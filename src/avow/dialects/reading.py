"""Admission: raw bytes to one JSON value, strictly, for every door and every dialect.

Refuses what two readers could read as two meanings: duplicate keys, NaN and infinities, numbers
beyond 2^53, lone surrogates, U+0000, invalid UTF-8, a byte-order mark, deep nesting, large
bodies. The fast path accepts or rejects; only a rejected body pays for the slow path, which lists
every problem with its path. It knows no dialect.

Clauses: IRL-2.21, IRL-2.22.
"""

import re
from dataclasses import dataclass
from typing import Any

import jiter

from avow.core.canonical import INTEGER_MAX
from avow.core.errors import MalformedError, Problem
from avow.dialects import diagnosis

# A string or a comment: whichever starts first is taken whole, so `//` inside a string stays.
# A string without an end is taken to the end of the text, once; a comment ends with its line,
# however that ends, so that no reader sees a field where another sees a comment.
_STRING_OR_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*+"?|//[^\r\n]*', re.DOTALL)
# With all digits made zeros, numbers beyond 2^53 show as sixteen zeros in a row or an exponent.
_DIGITS_ALIKE = bytes.maketrans(b"123456789E", b"000000000e")
_LONG, _EXPONENT = b"0" * 16, b"0e"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one declaration may hold."""

    size_bytes_max: int = 256 * 1024
    depth_max: int = 32


DEFAULT_LIMITS = Limits()


def admit(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Return the JSON value that `body` holds, or raise with every problem."""
    if len(body) > limits.size_bytes_max:
        message = f"{len(body)} bytes are more than {limits.size_bytes_max}"
        raise MalformedError(
            "declaration.too_large", [Problem("", "declaration.too_large", message)]
        )
    try:
        value = jiter.from_json(
            body, allow_inf_nan=False, cache_mode="keys", catch_duplicate_keys=True
        )
    except ValueError as error:
        problems = diagnosis.problems(body, limits.depth_max, first=str(error))
        raise MalformedError("declaration.unreadable", problems) from None
    # A text with U+0000 cannot be kept by every store, and ends early in many a reader. It can only
    # have been escaped, so few bodies are looked at a second time.
    if not (_is_plain(body, limits.depth_max) or _unambiguous(value, limits.depth_max)) or (
        b"\\u0000" in body and diagnosis.holds_nul(body)
    ):
        problems = diagnosis.problems(body, limits.depth_max, first="ambiguous value")
        raise MalformedError("declaration.unreadable", problems)
    return value


def strip_comments(body: bytes) -> bytes:
    """Blank out `//` comments, leaving every other byte at its place.

    Only for doors where a person pastes a record: the command line and the simulator.
    """

    def blanked(match: re.Match[bytes]) -> bytes:
        found = match.group()
        return found if found.startswith(b'"') else b" " * len(found)

    return _STRING_OR_COMMENT.sub(blanked, body) if b"//" in body else body


def _is_plain(body: bytes, depth_max: int) -> bool:
    """Return whether the bytes alone show that nothing nests too deep and no number is large.

    Most bodies are plain; only the others are walked through.
    """
    if body.count(b"{") + body.count(b"[") > depth_max:
        return False
    alike = body.translate(_DIGITS_ALIKE)
    return _LONG not in alike and _EXPONENT not in alike


def _unambiguous(value: Any, depth_left: int) -> bool:
    """Return whether all numbers are exact and nothing nests too deep; stops at the first fault."""
    kind = type(value)
    if kind is dict or kind is list:
        if depth_left == 0:
            return False
        for item in value.values() if kind is dict else value:
            # Most values are texts, and a call for each of them would double the cost.
            if type(item) is not str and not _unambiguous(item, depth_left - 1):
                return False
        return True
    if kind is int:
        return bool(-INTEGER_MAX <= value <= INTEGER_MAX)
    # A large fraction may have been an odd integer that was rounded to the bound.
    return kind is not float or bool(-INTEGER_MAX < value < INTEGER_MAX)
