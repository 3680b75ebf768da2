"""Settings: how this installation runs. What it decides is policy, and lives elsewhere.

Defaults, then `avow.toml`, then `AVOW_*`, then flags; later ones win, and every value knows where
it came from. Unknown keys and values out of bounds refuse to start, all of them listed at once.
This is the only module that reads the environment.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from avow.core.errors import MalformedError, Problem

FILE = "avow.toml"
PREFIX = "AVOW_"
_DIGITS_MAX = 18
# Read by the test run and the campaigns, not by Avow.
_NOT_SETTINGS = frozenset({"AVOW_VECTORS", "AVOW_CAMPAIGN"})


@dataclass(frozen=True, slots=True)
class Field:
    """One setting: its bounds, its default, and what it is for."""

    default: str | int
    meaning: str
    least: int = 0
    most: int = 0

    @property
    def bounds(self) -> str:
        """Return the admissible values in words."""
        return f"{self.least} to {self.most}" if isinstance(self.default, int) else "text"


FIELDS: dict[str, Field] = {
    "policy.source": Field("default", "the policy in force: a preset's name or a file's path"),
    "limits.declaration_bytes_max": Field(
        256 * 1024, "the largest declaration that is read", 1024, 16 * 1024 * 1024
    ),
    "limits.declaration_depth_max": Field(32, "how deep a declaration may nest", 4, 128),
}


@dataclass(frozen=True, slots=True)
class Value:
    """A value in force and where it came from."""

    value: str | int
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings in force."""

    values: Mapping[str, Value]

    def text(self, key: str) -> str:
        """Return a setting that is a text."""
        return str(self.values[key].value)

    def whole(self, key: str) -> int:
        """Return a setting that is a whole number."""
        return int(self.values[key].value)


def load(
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
    flags: Mapping[str, str | int] | None = None,
) -> Settings:
    """Return the settings in force, or raise with every problem."""
    environment = os.environ if environment is None else environment  # noqa: TID251 - the one place
    problems: list[Problem] = []
    values = {key: Value(field.default, "default") for key, field in FIELDS.items()}
    for source in (_from_file(file), _from_environment(environment), _from_flags(flags or {})):
        for key, given in source.items():
            _accept(key, given, values, problems)
    if problems:
        raise MalformedError("settings.invalid", problems)
    return Settings(values)


def variable(key: str) -> str:
    """Return the name of the environment variable for a setting."""
    return PREFIX + key.upper().replace(".", "_")


def _accept(key: str, given: Value, values: dict[str, Value], problems: list[Problem]) -> None:
    field = FIELDS.get(key)
    if field is None:
        known = ", ".join(FIELDS)
        message = f"{given.origin} sets it, and settings are {known}"
        problems.append(Problem(key, "settings.unknown_key", message))
        return
    value: Any = given.value
    if isinstance(field.default, int):
        value = _whole(value)
        if value is None or not field.least <= value <= field.most:
            message = f"expected a whole number, {field.bounds}, in {given.origin}"
            problems.append(Problem(key, "settings.invalid", message))
            return
    elif not isinstance(value, str) or not value.strip():
        message = f"expected a text that is not empty, in {given.origin}"
        problems.append(Problem(key, "settings.invalid", message))
        return
    values[key] = Value(value, given.origin)


def _whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    plain = isinstance(value, str) and value.isascii() and value.isdigit()
    return int(value) if plain and len(value) <= _DIGITS_MAX else None


def _from_file(file: Path | None) -> dict[str, Value]:
    path = Path(FILE) if file is None else file
    if file is None and not path.exists():
        return {}
    try:
        parsed = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise _unreadable(path, (error.strerror or "cannot be read").lower()) from None
    except (ValueError, RecursionError) as error:
        told = "nests too deep" if isinstance(error, RecursionError) else str(error)
        raise _unreadable(path, told[:1].lower() + told[1:]) from None
    return {key: Value(value, str(path)) for key, value in _flattened(parsed).items()}


def _unreadable(path: Path, told: str) -> MalformedError:
    code = "settings.unreadable"
    return MalformedError(code, [Problem(str(path), code, told)])


def _flattened(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections and keys joined by a point; settings have one level of sections."""
    flat: dict[str, Any] = {}
    for section, value in table.items():
        inner = value if isinstance(value, dict) else {"": value}
        flat |= {f"{section}.{key}".rstrip("."): item for key, item in inner.items()}
    return flat


def _from_environment(environment: Mapping[str, str]) -> dict[str, Value]:
    known = {variable(key): key for key in FIELDS}
    return {
        known.get(name, name): Value(value, name)
        for name, value in environment.items()
        if name.startswith(PREFIX) and name not in _NOT_SETTINGS
    }


def _from_flags(flags: Mapping[str, str | int]) -> dict[str, Value]:
    return {key: Value(value, "flag") for key, value in flags.items()}
