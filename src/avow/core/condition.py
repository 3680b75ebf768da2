"""Conditions of policy rules: structured data, checked at load and compiled to closures.

A condition is a leaf `{field, <operator> = value}` or a table of `all`, `any`, `none`, each a list
of conditions; a table with several of them needs every one. There is no expression language: a
misspelt field, operator or value is a problem at load, never a rule that silently cannot match.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import translate
from operator import attrgetter
from re import compile as compile_pattern
from typing import TYPE_CHECKING, Any

from avow.core import resource
from avow.core.errors import Problem
from avow.core.words import (
    DataLoss,
    Environment,
    Inspection,
    Means,
    Predicate,
    Scope,
    Signature,
    Trust,
    Truth,
)

if TYPE_CHECKING:
    from avow.core.case import Case

Test = Callable[["Case"], bool]

# What a rule may ask about, with the type of its values; see `docs/reference/policy.md`.
FIELDS: Mapping[str, type] = {
    "means": Means,
    "predicate": Predicate,
    "broad": bool,
    "environment": Environment,
    "reversible": Truth,
    "hazard": int,
    "trust": Trust,
    "signature": Signature,
    "diligence": bool,
    "verified": bool,
    "alternatives": bool,
    "rollback_plan": bool,
    "affects_backups": bool,
    "data_loss": DataLoss,
    "crosses_environment": bool,
    "goal_names_other_environment": bool,
    "inspection": Inspection,
    "protected": bool,
    "scope": Scope,
    "resource": resource.Resource,
    "rows": int,
    "agent": str,
    "dialect": str,
}
_ORDERED = (int, Trust)
_PARTS = ("all", "any", "none")


@dataclass(frozen=True, slots=True)
class Condition:
    """A checked condition: its source data, for comparing, and the closure that decides."""

    source: Any
    holds: Test

    def asks(self) -> frozenset[str]:
        """Return the names of all fields that this condition looks at."""
        return frozenset(_asked(self.source))


def read(source: Any, path: str, problems: list[Problem]) -> Condition:
    """Return the condition that `source` describes, adding every problem found to `problems`."""
    before = len(problems)
    test = _read(source, path, problems)
    # A condition with problems is never used: the policy that holds it is refused.
    return Condition(source, test if len(problems) == before else _always)


def _asked(source: Any) -> Iterator[str]:
    if isinstance(source, dict):
        if "field" in source:
            yield str(source["field"])
        for part in _PARTS:
            yield from _asked(source.get(part, []))
    elif isinstance(source, list):
        for item in source:
            yield from _asked(item)


def _always(_case: "Case") -> bool:
    return True


def _read(source: Any, path: str, problems: list[Problem]) -> Test:
    if not isinstance(source, dict) or not source:
        problems.append(Problem(path, "policy.invalid", "a condition is a table that is not empty"))
        return _always
    if "field" in source:
        return _leaf(source, path, problems)
    for name in source.keys() - set(_PARTS):
        message = f"`{name}` is neither `field` nor one of all, any, none"
        problems.append(Problem(f"{path}.{name}", "policy.invalid", message))
    parts = {
        part: _list(source[part], f"{path}.{part}", problems) for part in _PARTS if part in source
    }
    return _joined(parts)


def _list(source: Any, path: str, problems: list[Problem]) -> tuple[Test, ...]:
    if not isinstance(source, list) or not source:
        message = "expected a list of conditions that is not empty"
        problems.append(Problem(path, "policy.invalid", message))
        return ()
    return tuple(_read(item, f"{path}[{n}]", problems) for n, item in enumerate(source))


def _joined(parts: Mapping[str, tuple[Test, ...]]) -> Test:
    every, some, none = (parts.get(part, ()) for part in _PARTS)
    if not some and not none:
        return _every(every)

    def holds(case: "Case") -> bool:
        for test in every:
            if not test(case):
                return False
        for test in none:
            if test(case):
                return False
        if not some:
            return True
        for test in some:  # noqa: SIM110 - a generator costs three times as much here
            if test(case):
                return True
        return False

    return holds


def _every(tests: tuple[Test, ...]) -> Test:
    if len(tests) == 1:
        return tests[0]

    def holds(case: "Case") -> bool:
        for test in tests:  # noqa: SIM110 - a generator costs three times as much here
            if not test(case):
                return False
        return True

    return holds


def _leaf(source: dict[str, Any], path: str, problems: list[Problem]) -> Test:
    name, operators = source["field"], [key for key in source if key != "field"]
    if not isinstance(name, str) or name not in FIELDS:
        listed = ", ".join(FIELDS)
        message = f"`{name}` is not a field; fields are {listed}"
        problems.append(Problem(f"{path}.field", "policy.invalid", message))
        return _always
    if len(operators) != 1 or operators[0] not in _OPERATORS:
        message = f"`{name}` needs exactly one of {', '.join(_OPERATORS)}"
        problems.append(Problem(path, "policy.invalid", message))
        return _always
    operator = operators[0]
    kind = FIELDS[name]
    if not _fits(operator, kind):
        message = f"`{operator}` cannot be asked of `{name}`"
        problems.append(Problem(f"{path}.{operator}", "policy.invalid", message))
        return _always
    return _compiled(name, operator, source[operator], f"{path}.{operator}", problems)


def _fits(operator: str, kind: type) -> bool:
    match operator:
        case "at_least" | "at_most":
            return kind in _ORDERED
        case "under":
            return kind is resource.Resource
        case "like":
            return kind in (str, resource.Resource)
        case _:
            return kind is not resource.Resource


def _compiled(name: str, operator: str, given: Any, path: str, problems: list[Problem]) -> Test:
    kind, before = FIELDS[name], len(problems)
    value: Any
    if operator in ("in", "not_in"):
        value = _values(given, kind, path, problems)
    else:
        wanted = str if operator in ("under", "like") else kind
        value = _value(given, wanted, path, problems)
    if len(problems) > before:
        return _always
    return _OPERATORS[operator](attrgetter(name), value)


def _values(given: Any, kind: type, path: str, problems: list[Problem]) -> frozenset[Any]:
    if not isinstance(given, list) or not given:
        message = "expected a list of values that is not empty"
        problems.append(Problem(path, "policy.invalid", message))
        return frozenset()
    return frozenset(_value(item, kind, f"{path}[{n}]", problems) for n, item in enumerate(given))


def _value(given: Any, kind: type, path: str, problems: list[Problem]) -> Any:
    """Return `given` as a value of the field's type."""
    if issubclass(kind, Enum):
        by_name = {_spelled(member): member for member in kind}
        if isinstance(given, str) and given in by_name:
            return by_name[given]
        message = f"`{given}` is not one of {', '.join(by_name)}"
        problems.append(Problem(path, "policy.invalid", message))
        return None
    if type(given) is not kind:
        names = {bool: "true or false", int: "a whole number", str: "a text"}
        problems.append(Problem(path, "policy.invalid", f"expected {names[kind]}"))
    return given


def _spelled(member: Enum) -> str:
    """Return how a policy file writes a member: its value, or its name where it is a number."""
    return member.value if isinstance(member.value, str) else member.name.lower()


def _like(get: Callable[[Any], Any], glob: str) -> Test:
    matches = compile_pattern(translate(glob)).match
    return lambda case: matches(str(get(case))) is not None


def _under(get: Callable[[Any], Any], text: str) -> Test:
    contains = resource.read(text).contains
    return lambda case: contains(get(case))


_OPERATORS: dict[str, Callable[[Callable[[Any], Any], Any], Test]] = {
    "is": lambda get, value: lambda case: get(case) == value,
    "is_not": lambda get, value: lambda case: get(case) != value,
    "in": lambda get, values: lambda case: get(case) in values,
    "not_in": lambda get, values: lambda case: get(case) not in values,
    "at_least": lambda get, value: lambda case: get(case) >= value,
    "at_most": lambda get, value: lambda case: get(case) <= value,
    "under": _under,
    "like": _like,
}
