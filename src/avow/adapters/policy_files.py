"""Policies from files: presets that ship with Avow, and files that may change while it runs.

A file is read whole, parsed, checked and only then put in force, in one assignment. A change that
cannot be read keeps the last good policy and is reported through `alarm`, once for each version
of the file. A file that is broken from the start raises: there is nothing good to keep.

Clauses: IRL-6.12.
"""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from avow import data
from avow.core import policy_reading, relaxing
from avow.core.errors import MalformedError, Problem
from avow.core.policy import Policy

BASELINE = "default"
_EXTENDS_MAX = 8
_DEPTH_MAX = 24
_Stamp = tuple[int, int, int, int]
Alarm = Callable[[str, MalformedError], None]


def presets() -> tuple[str, ...]:
    """Return the names of the policies that ship with Avow."""
    return tuple(name.removesuffix(".toml") for name in data.names("policies"))


@cache
def preset(name: str) -> Policy:
    """Return a shipped policy."""
    return _checked(_resolved(_parsed(data.read("policies", f"{name}.toml"), name), name))


def load(path: Path) -> Policy:
    """Return the policy in a file, compared with the built-in one, or raise with every problem."""
    try:
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        raise _malformed("policy.not_found", str(path), _reason(error)) from None
    return _checked(_resolved(_parsed(body, str(path)), str(path)))


def from_text(text: str) -> Policy:
    """Return the policy of a stored canonical text."""
    return _checked(json.loads(text))


def named(name: str) -> Policy:
    """Return the preset of that name, or the policy in that file."""
    return preset(name) if name in presets() else load(Path(name))


class Preset:
    """A shipped policy as a source; it never changes."""

    def __init__(self, name: str) -> None:
        self._policy = preset(name)

    def current(self) -> Policy:
        """Return the policy."""
        return self._policy


class PolicyFile:
    """A policy file as a source: looked at on every call, read again when it changed."""

    def __init__(self, path: Path, alarm: Alarm) -> None:
        self._path = path
        self._alarm = alarm
        self._seen = self._stamp()
        self._policy = load(path)

    def current(self) -> Policy:
        """Return the newest good policy; never one that was half read."""
        stamp = self._stamp()
        if stamp != self._seen:
            self._seen = stamp
            self._reload(stamp)
        return self._policy

    def _reload(self, stamp: _Stamp | None) -> None:
        try:
            policy = load(self._path)
        except MalformedError as error:
            self._alarm(str(self._path), error)
            return
        # Written to while it was read: what was read may be half of it, and the next call sees
        # the new stamp and reads again.
        if self._stamp() == stamp:
            self._policy = policy
        else:
            self._seen = None

    def _stamp(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def source(name: str, alarm: Alarm) -> Preset | PolicyFile:
    """Return the source for a preset's name or a file's path."""
    return Preset(name) if name in presets() else PolicyFile(Path(name), alarm)


def _parsed(body: bytes, origin: str) -> dict[str, Any]:
    try:
        parsed = tomllib.loads(body.decode("utf-8"))
        deep = _is_deep(parsed, _DEPTH_MAX)
    except (ValueError, RecursionError) as error:
        told = "nests too deep" if isinstance(error, RecursionError) else str(error)
        raise _malformed("policy.unreadable", origin, told[:1].lower() + told[1:]) from None
    if deep:
        raise _malformed("policy.unreadable", origin, f"nests deeper than {_DEPTH_MAX} levels")
    return parsed


def _is_deep(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(left == 0 or _is_deep(item, left - 1) for item in inner)


def _resolved(parsed: dict[str, Any], origin: str) -> dict[str, Any]:
    """Join a file with the presets it extends; only presets can be extended."""
    for _ in range(_EXTENDS_MAX):
        base = parsed.pop("extends", None)
        if base is None:
            return parsed
        if base not in presets():
            told = f"extends `{base}`, which is not one of {', '.join(presets())}"
            raise _malformed("policy.invalid", origin, told)
        below = _parsed(data.read("policies", f"{base}.toml"), str(base))
        # A switch that loosens is never inherited: who relaxes must say so in their own file.
        below.pop("allow_relaxing", None)
        parsed = policy_reading.merge(below, parsed)
    raise _malformed("policy.invalid", origin, "extends itself")


def _checked(source: dict[str, Any]) -> Policy:
    policy = policy_reading.read(source)
    if policy.name == BASELINE and source == _baseline_source():
        return policy
    relaxed = relaxing.compare(policy, preset(BASELINE))
    if relaxed and not policy.allow_relaxing:
        problems = [Problem("", "policy.relaxing", phrase) for phrase in relaxed]
        raise MalformedError("policy.relaxing", problems)
    return replace(policy, relaxes=relaxed)


@cache
def _baseline_source() -> dict[str, Any]:
    return _parsed(data.read("policies", f"{BASELINE}.toml"), BASELINE)


def _malformed(code: str, origin: str, told: str) -> MalformedError:
    return MalformedError(code, [Problem(origin, code, told)])


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or "cannot be read").lower()
