"""The layers are the design: imports point downward only, and each layer knows its libraries."""

import ast
import sys
from pathlib import Path

import pytest

from tests.tidy.sources import SOURCE, modules, name_of, parsed

# Layer, its number, and the third-party packages it may use; None where anything goes.
LAYERS: dict[str, tuple[int, frozenset[str] | None]] = {
    "core": (1, frozenset()),
    "dialects": (2, frozenset({"pydantic", "jiter", "lark", "cbor2"})),
    "observe": (2, frozenset({"tree_sitter", "tree_sitter_bash", "sqlglot"})),
    "engine": (3, frozenset()),
    "data": (3, frozenset()),
    "adapters": (4, None),
    "channels": (5, None),
    "clients": (5, frozenset({"httpx", "pygls"})),
    "testing": (5, frozenset()),
    "wiring": (6, frozenset()),
    "settings": (6, frozenset()),
    "__main__": (6, frozenset()),
    "avow": (6, frozenset()),
}
# Layers that lie lower and still may not be imported.
FORBIDDEN = {
    "channels": {"adapters"},
    "clients": {"engine", "adapters"},
    "observe": {"dialects"},
    "dialects": {"observe"},
}
# What judges; a dialect may render a verdict and may not reach one.
JUDGING = ("avow.core.assess", "avow.core.opinion", "avow.core.policy", "avow.core.risk")
# Inside these, one part may not import another; the files beside the parts are shared.
SEPARATE = {"dialects", "channels", "adapters"}
# The standard modules that compute and touch nothing; other layers name what else they need.
PURE = frozenset(
    [
        "base64",
        "binascii",
        "collections",
        "contextlib",
        "dataclasses",
        "enum",
        "functools",
        "hashlib",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "types",
        "typing",
        "unicodedata",
    ]
)
STANDARD = {
    "core": PURE,
    "dialects": PURE,
    "observe": PURE,
    "engine": PURE | {"asyncio", "datetime"},
}
PURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__"})


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "avow"


def imports(tree: ast.Module) -> list[str]:
    """Return every module a file imports, type-checking imports included."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += names if str(node.module).startswith("avow") else [str(node.module)]
    return found


def offences(module: str, tree: ast.Module) -> list[str]:
    """Return what a module imports that its layer may not."""
    layer = layer_of(module)
    number, libraries = LAYERS[layer]
    found = []
    for imported in imports(tree):
        top = imported.split(".", maxsplit=1)[0]
        if top == "avow":
            found += _inside(module, layer, number, imported)
        elif top in sys.stdlib_module_names:
            if top not in STANDARD.get(layer, {top}):
                found.append(f"{module} imports {top}, which {layer} may not")
        elif libraries is not None and top not in libraries:
            found.append(f"{module} imports {top}, which {layer} may not")
    return found


def _inside(module, layer, number, imported):
    target = layer_of(imported)
    if target not in LAYERS:
        # `from avow import settings` names a module, `from avow import evaluate` a promise.
        target = "avow"
    if layer == "dialects" and imported.startswith(JUDGING):
        return [f"{module} imports {imported}: a dialect never judges"]
    if target in FORBIDDEN.get(layer, ()):
        return [f"{module} imports {imported}: {layer} may not know {target}"]
    if target == layer:
        return _apart(module, layer, imported)
    if LAYERS[target][0] >= number and number != 6:
        return [f"{module} imports {imported}: not downward"]
    return []


def _apart(module, layer, imported):
    own, other = module.split("."), imported.split(".")
    folder = SOURCE / layer
    # In adapters every file is a part of its own; elsewhere the folders are.
    files = folder.glob("*.py") if layer == "adapters" else ()
    parts = {path.stem for path in (*files, *filter(Path.is_dir, folder.glob("*")))}
    if layer in SEPARATE and len(own) > 2 and len(other) > 2:
        both_parts = own[2] in parts and other[2] in parts
        if both_parts and own[2] != other[2]:
            return [f"{module} imports {imported}: parts of {layer} do not know each other"]
    return []


def test_every_module_has_a_layer():
    """A new folder must be placed in the table before anything may live in it."""
    assert {layer_of(name_of(path)) for path in modules()} <= LAYERS.keys()


def test_imports_point_downward():
    """No module imports upward, sideways or a library its layer may not know."""
    found = [offence for path in modules() for offence in offences(name_of(path), parsed(path))]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("avow.core.risk", "from avow.engine import desk"),
        ("avow.core.risk", "import avow.adapters.clock"),
        ("avow.core.risk", "import os"),
        ("avow.core.risk", "import concurrent.futures"),
        ("avow.core.risk", "import datetime"),
        ("avow.dialects.irl.lower", "import socket"),
        ("avow.dialects.irl.lower", "from avow.core.assess import assess"),
        ("avow.engine.desk", "import sqlite3"),
        ("avow.adapters.clock", "from avow.adapters import anchor"),
        ("avow.core.risk", "import pydantic"),
        ("avow.core.risk", "def f():\n    from avow.dialects import reading"),
        ("avow.dialects.irl.lower", "from avow.engine.judgement import Judge"),
        ("avow.dialects.irl.lower", "import httpx"),
        ("avow.engine.desk", "from avow.adapters import clock"),
        ("avow.engine.desk", "from avow.settings import load"),
        ("avow.engine.desk", "import rich"),
        ("avow.adapters.clock", "from avow.channels import render"),
        ("avow.adapters.clock", "from avow import wiring"),
        ("avow.channels.cli.app", "from avow.adapters import clock"),
        ("avow.channels.cli.app", "from avow.wiring import desk"),
        ("avow.clients.http", "from avow.engine import desk"),
        ("avow.observe.shell", "from avow.dialects import reading"),
    ],
)
def test_a_planted_offence_is_found(module, source):
    """Each kind of offence is seen, also inside a function."""
    assert offences(module, ast.parse(source))


def test_core_touches_nothing_outside():
    """Core calls neither open nor print nor eval, and has no async and no global statement."""
    for path in modules():
        if "core" not in path.parts:
            continue
        for node in ast.walk(parsed(path)):
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in PURE_CALLS, f"{path.name} calls {node.func.id}"


def test_no_code_from_data():
    """Nowhere in the package is text or bytes turned into code."""
    banned = {"eval", "exec", "compile", "pickle", "marshal", "shelve"}
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in banned, path
        assert banned.isdisjoint(name.split(".")[0] for name in imports(parsed(path))), path


def test_the_package_lies_where_the_test_looks():
    """The test reads real modules and not an empty folder."""
    assert len(modules()) > 40
    assert all(isinstance(path, Path) for path in modules())
