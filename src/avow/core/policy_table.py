"""Reading one table of a policy file: typed, bounded, every problem noted, no key unread.

Owns the small vocabulary in which `policy_reading` asks for values. After a problem it hands out
a placeholder, so that reading goes on and all problems are found; the caller refuses the whole.
"""

from enum import Enum
from typing import Any, TypeVar

from avow.core.errors import Problem

E = TypeVar("E", bound=Enum)
T = TypeVar("T")
POINTS_MAX = 100


class Table:
    """One table with its path; `close` reports the keys that nobody asked for."""

    def __init__(self, source: Any, path: str, problems: list[Problem]) -> None:
        self._path = path
        self._problems = problems
        self._asked: set[str] = set()
        self._source: dict[str, Any] = source if isinstance(source, dict) else {}
        if not isinstance(source, dict):
            self.problem("", "expected a table")

    def problem(self, key: str, message: str) -> None:
        """Note a problem with one key of this table."""
        self._problems.append(Problem(self._at(key), "policy.invalid", message))

    def has(self, key: str) -> bool:
        """Return whether the file names the key."""
        return key in self._source

    def raw(self, key: str) -> Any:
        """Return the value of a required key, whatever it is."""
        self._asked.add(key)
        if key not in self._source:
            self.problem(key, "is missing")
        return self._source.get(key)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty."""
        value = self._optional(key, default)
        if isinstance(value, str) and value.strip():
            return value
        return self._wrong(key, "expected a text that is not empty", placeholder="?")

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """Return true or false."""
        value = self._optional(key, default)
        if isinstance(value, bool):
            return value
        return self._wrong(key, "expected true or false", placeholder=False)

    def whole(self, key: str, *, most: int = POINTS_MAX, default: int | None = None) -> int:
        """Return a whole number from 0 to `most`."""
        value = self._optional(key, default)
        if type(value) is int and 0 <= value <= most:
            return value
        return self._wrong(key, f"expected a whole number from 0 to {most}", placeholder=0)

    def choice(self, key: str, kind: type[E], default: E | None = None) -> E:
        """Return a member of a closed vocabulary, written by value or by name."""
        spelled = {m.value if isinstance(m.value, str) else m.name: m for m in kind}
        if key not in self._source and default is not None:
            self._asked.add(key)
            return default
        value = self.raw(key)
        if isinstance(value, str) and value in spelled:
            return spelled[value]
        first: E = next(iter(kind))
        if key not in self._source:
            return first
        return self._wrong(key, f"`{value}` is not one of {', '.join(spelled)}", placeholder=first)

    def table(self, key: str) -> "Table":
        """Return an inner table."""
        value = self.raw(key)
        return Table({} if value is None else value, self._at(key), self._problems)

    def entries(self, key: str) -> list[Any]:
        """Return a list, empty where the file has none."""
        value = self._optional(key, [])
        return (
            value
            if isinstance(value, list)
            else self._wrong(key, "expected a list", placeholder=[])
        )

    def close(self) -> None:
        """Note every key that is not part of a policy."""
        for key in self._source.keys() - self._asked:
            self.problem(key, "is not part of a policy")

    def _optional(self, key: str, default: Any) -> Any:
        if default is not None and key not in self._source:
            self._asked.add(key)
            return default
        return self.raw(key)

    def _wrong(self, key: str, message: str, *, placeholder: T) -> T:
        if key in self._source:
            self.problem(key, message)
        return placeholder

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}".strip(".")
