"""House rules: sizes, words, docstrings, marks that need a reason."""

import ast
import re

import pytest

from avow.core.case import Case
from avow.core.condition import FIELDS
from tests.tidy.sources import ROOT, modules, name_of, parsed, text_files

FILE_LINES, FILE_LINES_HARD = 400, 600
FUNCTION_LINES, FUNCTION_LINES_HARD = 50, 70
# Names that say nothing, beside the synonyms that the glossary lists.
EMPTY_WORDS = {"utils", "helpers", "common", "manager", "misc"}


def banned_words():
    """Return the last column of the glossary's table, and the words that say nothing."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    rows = re.findall(r"^\|[^|]+\|[^|]+\|([^|]*)\|$", text, re.MULTILINE)
    listed = {word.strip() for row in rows[2:] for word in row.split(",")}
    return {word for word in listed if word and " " not in word} | EMPTY_WORDS


BANNED_WORDS = banned_words()
PLACES = re.compile(r"(?<![\w.])/(?:work|root|home|opt|Users)/\w")
MARK = re.compile(r"(?:#\s*(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK))\b")
EXCUSE = re.compile(r"#\s*(?:noqa|type:\s*ignore|fmt:\s*skip|pragma)[^#]*")


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(node):
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_files_and_functions_stay_small(path):
    """Files up to 400 lines and functions up to 50; in core without exception, elsewhere 600 and 70."""
    in_core = "core" in path.parts
    lines = path.read_text().count("\n")
    assert lines <= (FILE_LINES if in_core else FILE_LINES_HARD)
    most = FUNCTION_LINES if in_core else FUNCTION_LINES_HARD
    for node in functions(parsed(path)):
        assert length(node) <= most, node.name


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_says_what_it_owns(path):
    """Each module opens with a docstring."""
    assert ast.get_docstring(parsed(path))


def identifiers(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def words(name):
    return set(re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().split("_"))


def offending(tree):
    return {word for name in identifiers(tree) for word in words(name) & BANNED_WORDS}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_one_word_per_concept(path):
    """No name in the package uses a banned synonym; the wire's own names are texts, not names."""
    assert not words(path.stem) & BANNED_WORDS
    assert not offending(parsed(path))


def test_a_banned_word_would_be_found():
    """The rule bites, in any letter case."""
    assert offending(ast.parse("class PolicyManager:\n    def run_job(self, payload): ...")) == {
        "manager",
        "job",
        "payload",
    }
    assert {"decision", "danger", "ledger", "checker", "plugin"} <= BANNED_WORDS


def test_every_test_says_what_it_shows():
    """Each test has a docstring of its behaviour, and at least one assertion or expectation."""
    silent = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in functions(parsed(path)):
            if not node.name.startswith("test_"):
                continue
            text = ast.unparse(node)
            if not ast.get_docstring(node) or not re.search(r"\bassert\b|pytest\.raises", text):
                silent.append(f"{path.name}:{node.name}")
    assert silent == []


def test_no_place_of_a_machine_is_written_down():
    """No file names an absolute path of somebody's machine."""
    found = [
        f"{path.name}: {match.group()}"
        for path in text_files()
        for match in PLACES.finditer(path.read_text(encoding="utf-8"))
        if path.name != "test_house.py"
    ]
    assert found == []


def test_no_unfinished_marks_and_no_excuse_without_a_reason():
    """Unfinished work has no mark in the code, and what a tool is told to overlook has a reason."""
    for path in text_files():
        if path.suffix != ".py":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not MARK.search(line), f"{path.name}: {line}"
    for path in modules():
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            excuse = EXCUSE.search(line)
            if excuse and "re.compile" not in line:
                above = number > 0 and lines[number - 1].strip().startswith("#")
                assert " - " in excuse.group() or above, f"{path.name}: {line.strip()}"


def test_fields_of_cases_and_of_rules_are_the_same():
    """Every field of a case can be asked for by a rule, in the same order, and no other."""
    assert list(FIELDS) == list(Case._fields)


def test_the_documents_of_the_specifications_are_called_that():
    """Prose speaks of specifications."""
    word = "see" + "d"
    allowed = re.compile(rf"(?i)\b{word}(ed|s)?\b")
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert not allowed.search(path.read_text(encoding="utf-8")), path.name
