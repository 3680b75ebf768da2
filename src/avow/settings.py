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
    choices: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """Return the admissible values in words."""
        if self.choices:
            return " or ".join(self.choices)
        return f"{self.least} to {self.most}" if isinstance(self.default, int) else "text"


FIELDS: dict[str, Field] = {
    "policy.source": Field("default", "the policy in force: a preset's name or a file's path"),
    "limits.declaration_bytes_max": Field(
        256 * 1024, "the largest declaration that is read", 1024, 16 * 1024 * 1024
    ),
    "limits.declaration_depth_max": Field(32, "how deep a declaration may nest", 4, 128),
    "store.data": Field("~/.avow", "the folder of the database, the keys and the anchor"),
    "store.url": Field("sqlite", "`sqlite` for the folder, or postgresql://… for several nodes"),
    "journal.anchor": Field(
        "in store.data", "the file of signed checkpoints; best on another disk, of another owner"
    ),
    "http.host": Field("127.0.0.1", "the address to listen on"),
    "http.port": Field(8800, "the port to listen on; 0 takes a free one", 0, 65535),
    "http.hosts": Field("none", "further host names the server answers for, separated by commas"),
    "http.origins": Field("none", "further origins whose pages may ask, separated by commas"),
    "http.tls_certificate": Field("none", "the file of the TLS certificate chain"),
    "http.tls_key": Field("none", "the file of the TLS private key"),
    "http.beyond_loopback": Field(
        "tls",
        "what listening beyond this machine needs: `tls`, or a proxy before it that has it",
        choices=("tls", "behind-tls-proxy"),
    ),
    "gate.timeout_s": Field(300, "how long a question to a human stays open", 10, 86_400),
    "signature.window_s": Field(300, "how far the time of a signature may be from now", 5, 3600),
    "rate.burst": Field(200, "how many declarations one principal may send at once", 1, 10**9),
    "rate.per_minute": Field(1200, "how many more each minute", 0, 10**9),
    "breaker.window_s": Field(60, "the window in which the breaker counts", 1, 3600),
    "breaker.quiet_s": Field(300, "how long a tripped breaker stays open", 1, 86_400),
    "breaker.delete_most": Field(30, "deletes by one agent in the window", 1, 10**9),
    "breaker.auth_most": Field(30, "changes of rights by one agent in the window", 1, 10**9),
    "breaker.change_most": Field(300, "other changes of one kind in the window", 1, 10**9),
    "breaker.read_most": Field(1200, "reads by one agent in the window", 1, 10**9),
    "log.level": Field("info", "what is logged", choices=("debug", "info", "warning", "error")),
    "telemetry.otlp_endpoint": Field("none", "where spans go, for example http://127.0.0.1:4318"),
}
NONE = "none"


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

    def optional(self, key: str) -> str | None:
        """Return a setting that is a text, or nothing where it says none."""
        return None if self.text(key) == NONE else self.text(key)

    def listed(self, key: str) -> tuple[str, ...]:
        """Return a setting that is a list of texts."""
        given = self.optional(key) or ""
        return tuple(part.strip() for part in given.split(",") if part.strip())

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


def flagged(settings: Settings, flags: Mapping[str, str | int]) -> Settings:
    """Return the settings with what was given on the command line, or raise with every problem."""
    problems: list[Problem] = []
    values = dict(settings.values)
    for key, given in _from_flags(flags).items():
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
    elif field.choices and value not in field.choices:
        message = f"expected {field.bounds}, in {given.origin}"
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
