"""What is wrong with a body that admission rejected: every problem, each with its path.

Runs only after the fast reader said no, and never says yes: it returns at least one problem. It
reads with the standard library, keeping repeated keys and odd numbers as markers, then walks the
result from the top so that each marker gets a path.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from avow.core.canonical import INTEGER_MAX
from avow.core.errors import Problem

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Pairs(list[tuple[str, Any]]):
    """The members of one object, repeated keys included."""


class _Number:
    """A number that cannot be admitted, as it was written."""

    def __init__(self, text: str) -> None:
        self.text = text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - one line


def problems(body: bytes, depth_max: int, *, first: str) -> tuple[Problem, ...]:
    """Return every problem of a rejected body; `first` is what the fast reader said."""
    if not body.strip():
        return (Problem("", "declaration.empty", "the body is empty"),)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} does not belong to valid UTF-8"
        return (Problem("", "declaration.bad_text", message),)
    depth = _depth(body)
    if depth > depth_max:
        message = f"{depth} levels are more than {depth_max}"
        return (Problem("", "declaration.too_deep", message),)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_Pairs,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_Number,
        )
    except json.JSONDecodeError as error:
        told = f"{_lowered(error.msg)} at line {error.lineno} column {error.colno}"
        return (Problem("", "declaration.not_json", told),)
    found = tuple(_walk(value, ""))
    # The two readers disagree: the strict one is right, whatever it was that it saw.
    return found or (Problem("", "declaration.not_json", _lowered(first)),)


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]


def _depth(body: bytes) -> int:
    deepest = depth = 0
    for byte in _STRING.sub(b"", body):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _integer(text: str) -> int | _Number:
    # Counting digits first keeps a number of a thousand digits from being converted at all.
    too_long = len(text.lstrip("-")) > len(str(INTEGER_MAX))
    return _Number(text) if too_long or abs(int(text)) > INTEGER_MAX else int(text)


def _float(text: str) -> float | _Number:
    return float(text) if abs(float(text)) < INTEGER_MAX else _Number(text)


def _walk(value: Any, path: str) -> Iterator[Problem]:
    match value:
        case _Pairs():
            counted = Counter(key for key, _ in value)
            for key, times in counted.items():
                if times > 1:
                    message = f"`{_clean(key)}` is given {times} times"
                    yield Problem(_below(path, key), "declaration.duplicate_key", message)
            for key, item in value:
                yield from _text(key, _below(path, key))
                yield from _walk(item, _below(path, key))
        case list():
            for index, item in enumerate(value):
                yield from _walk(item, f"{path}[{index}]")
        case _Number():
            message = f"`{value.text}` is not finite or lies beyond 2^53"
            yield Problem(path, "declaration.number_out_of_range", message)
        case str():
            yield from _text(value, path)
        case _:
            return


def holds_nul(body: bytes) -> bool:
    """Return whether a text of a body that can be read holds the character U+0000."""
    value = json.loads(body, object_pairs_hook=_Pairs)
    return any(problem.message == _NUL for problem in _walk(value, ""))


_NUL = "the text holds the character U+0000"


def _text(value: str, path: str) -> Iterator[Problem]:
    if _SURROGATE.search(value):
        yield Problem(path, "declaration.bad_text", "the text holds half a surrogate pair")
    if "\0" in value:
        yield Problem(path, "declaration.bad_text", _NUL)


def _below(path: str, key: str) -> str:
    return f"{path}.{_clean(key)}" if path else _clean(key)


def _clean(key: str) -> str:
    return _SURROGATE.sub("?", key)[:80]
