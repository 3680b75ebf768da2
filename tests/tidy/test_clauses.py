"""The clause register tells the truth: what is called met has a test, and MUSTs only close."""

import ast
import importlib
import re
import tomllib

import pytest

from avow.adapters import register_files
from avow.engine.conformance import Status
from tests.tidy.sources import ROOT, history, modules, parsed

REGISTER = register_files.load()
KNOWN = {clause.id for clause in REGISTER.clauses}
RANGE = re.compile(
    r"\b((?:IRL|IIR|KLIS|ILANG|ICNLI)-[0-9A-Z.]+\d)(?: to ((?:IRL|IIR|KLIS|ILANG|ICNLI)-[0-9A-Z.]+\d))?"
)


def marked():
    """Return the clauses that tests carry as marks."""
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(parsed(path)):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if named and node.func.attr == "clause":
                found |= {argument.value for argument in node.args}
    return found


MARKED = marked()


def test_every_clause_named_exists():
    """No test, docstring or comment names a clause that the register does not have."""
    assert MARKED <= KNOWN
    for path in modules():
        for match in RANGE.finditer(path.read_text()):
            for name in filter(None, match.groups()):
                assert name in KNOWN, f"{path.name} names {name}"


def test_what_is_met_has_a_test():
    """A clause called met is carried by at least one test; a partial one says what is missing."""
    for clause in REGISTER.clauses:
        if clause.status is Status.MET:
            assert clause.id in MARKED, f"{clause.id} is called met and no test carries it"
        if clause.status in (Status.PARTIAL, Status.DECLINED):
            assert clause.why, clause.id


@pytest.mark.parametrize(
    "place", sorted({place for clause in REGISTER.clauses for place in clause.code})
)
def test_the_code_named_exists(place):
    """Where a status names code, it can be imported."""
    module, _, name = place.partition(":")
    assert hasattr(importlib.import_module(module), name)


def test_open_musts_may_only_fall(capsys):
    """The count is the one written down, and it never rose from one commit to the next."""
    with capsys.disabled():
        print(f"\nopen MUST clauses: {REGISTER.open_musts}")  # noqa: T201 - the figure is asked for
    assert REGISTER.open_musts == REGISTER.open_musts_recorded
    counts = [REGISTER.open_musts]
    for text in history("src/avow/data/specs/status.toml"):
        before = tomllib.loads(text)
        # The very first version was empty.
        if before.get("clauses"):
            counts.append(before["ratchet"]["open_musts"])
    assert counts == sorted(counts)


def test_the_register_is_whole():
    """478 clauses with distinct ids; keywords from a closed set."""
    assert len(REGISTER.clauses) == len(KNOWN) == 478
    assert {clause.keyword for clause in REGISTER.clauses} <= {"MUST", "SHOULD", "MAY", "FEATURE"}
