"""Conditions of policy rules: structured data, checked at load and compiled to closures.

A condition is a leaf `{field, <operator> = value}` or a table of `all`, `any`, `none`, each a list
of conditions; a table with several of them needs every one. There is no expression language: a
misspelt field, operator or value is a problem at load, never a rule that silently cannot match.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from avow.core import resource
from avow.core.errors import Problem
from avow.core.hazard import HIGHEST
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


class Field(NamedTuple):
    """Something a rule may ask about: the type of its values and what it means."""

    kind: type
    meaning: str


# In the order of `case.Case`; a test keeps the two alike.
FIELDS: Mapping[str, Field] = {
    "means": Field(Means, "how the effect is brought about"),
    "predicate": Field(Predicate, "what the effect is to its resource"),
    "broad": Field(bool, "the target is a root or a wildcard, so more than one thing"),
    "environment": Field(Environment, "where the target lives; unknown counts as production"),
    "reversible": Field(Truth, "whether there is a way back"),
    "hazard": Field(int, "the inherent class of the effect, 0 to 4"),
    "trust": Field(Trust, "the lower of declared and registered trust"),
    "signature": Field(Signature, "what came of checking the signature"),
    "diligence": Field(bool, "the dialect asks for diligence and nothing was observed"),
    "verified": Field(bool, "the agent checked its assumption, with evidence where that is asked"),
    "alternatives": Field(bool, "the agent named another way it considered"),
    "rollback_plan": Field(bool, "there is a rollback plan, with a snapshot where that is asked"),
    "affects_backups": Field(bool, "backups are hit, or nobody said so where that is asked"),
    "data_loss": Field(DataLoss, "how much data may be lost, as declared"),
    "crosses_environment": Field(bool, "the agent works in another environment than the target's"),
    "goal_names_other_environment": Field(bool, "the stated goal names another environment"),
    "inspection": Field(Inspection, "whether the text that would run could be read"),
    "protected": Field(bool, "the inventory marks the target as protected"),
    "scope": Field(Scope, "how long the effect lasts"),
    "resource": Field(resource.Resource, "the target in its canonical form"),
    "rows": Field(int, "how many rows are affected; unknown counts as endless"),
    "agent": Field(str, "the id of the agent"),
    "dialect": Field(str, "the spelling in which it was declared"),
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
    return Condition(source, test if len(problems) == before else _refused)


def _asked(source: Any) -> Iterator[str]:
    if isinstance(source, dict):
        if "field" in source:
            yield str(source["field"])
        for part in _PARTS:
            yield from _asked(source.get(part, []))
    elif isinstance(source, list):
        for item in source:
            yield from _asked(item)


def _refused(_case: "Case") -> bool:
    raise AssertionError("a condition with problems is never asked: its policy was refused")


def _read(source: Any, path: str, problems: list[Problem]) -> Test:
    if not isinstance(source, dict) or not source:
        problems.append(Problem(path, "policy.invalid", "a condition is a table that is not empty"))
        return _refused
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
        return _refused
    if len(operators) != 1 or operators[0] not in OPERATORS:
        message = f"`{name}` needs exactly one of {', '.join(OPERATORS)}"
        problems.append(Problem(path, "policy.invalid", message))
        return _refused
    operator = operators[0]
    kind = FIELDS[name].kind
    if not _fits(operator, kind):
        message = f"`{operator}` cannot be asked of `{name}`"
        problems.append(Problem(f"{path}.{operator}", "policy.invalid", message))
        return _refused
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
    kind, before = FIELDS[name].kind, len(problems)
    value: Any
    if operator in ("in", "not_in"):
        value = _values(given, kind, path, problems)
    else:
        wanted = str if operator in ("under", "like") else kind
        value = _value(given, wanted, path, problems)
    if name == "hazard" and not all(0 <= given <= HIGHEST for given in _listed(value)):
        message = f"hazards are whole numbers from 0 to {HIGHEST}"
        problems.append(Problem(path, "policy.invalid", message))
    if len(problems) > before:
        return _refused
    if kind is resource.Resource and operator == "like":
        # Compared with the canonical form, so written in it: `table:x*` means `TABLE:/x*`.
        value = str(resource.read(value))
    build, _ = OPERATORS[operator]
    return build(attrgetter(name), value)


def _listed(value: Any) -> Iterable[int]:
    whole = value if isinstance(value, frozenset) else {value}
    return [number for number in whole if type(number) is int]


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
    """Match `*` and `?`; everything else, brackets too, stands for itself."""
    pattern = re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".")
    matches = re.compile(pattern, re.DOTALL).fullmatch
    return lambda case: matches(str(get(case))) is not None


def _under(get: Callable[[Any], Any], text: str) -> Test:
    contains = resource.read(text).contains
    return lambda case: contains(get(case))


# What each operator builds, and what it says, for people.
OPERATORS: Mapping[str, tuple[Callable[[Callable[[Any], Any], Any], Test], str]] = {
    "is": (lambda get, value: lambda case: get(case) == value, "is exactly this"),
    "is_not": (lambda get, value: lambda case: get(case) != value, "is anything else"),
    "in": (lambda get, values: lambda case: get(case) in values, "is one of a list"),
    "not_in": (lambda get, values: lambda case: get(case) not in values, "is none of a list"),
    "at_least": (lambda get, value: lambda case: get(case) >= value, "is this or more"),
    "at_most": (lambda get, value: lambda case: get(case) <= value, "is this or less"),
    "under": (_under, "is this resource or lies below it, by segments"),
    "like": (_like, "matches a pattern with `*` and `?`, in exact letter case"),
}
