"""The judge agrees with a naive model that shares nothing with it."""

import ast
from pathlib import Path

import pytest

import avow
from avow.core import hazard
from tests.reference import differential, model

# What the model models; reading and rendering are not counted.
JUDGE = ("assess", "case", "condition", "hazard", "opinion", "policy", "policy_reading")
MORE = ("policy_table", "risk", "verdict", "finding", "inventory", "situation", "words")


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_thousand_random_records(seed):
    """Outcome, score, level, reasons, hazard and rules agree on 4 times 25,000 records."""
    assert differential.compare(seed, 25_000) == 25_000


@pytest.mark.clause("IRL-3.05")
def test_the_whole_lattice():
    """They agree on all 6,912 combinations under both presets, for every registered trust."""
    assert differential.compare_lattice() == 6912 * 6


def test_the_comparison_can_fail(monkeypatch):
    """With one figure of the model changed, the comparison finds it at once."""
    monkeypatch.setitem(model.POINTS, "write", 21)
    with pytest.raises(AssertionError, match=r"number \d+ under"):
        differential.compare(1, 1000)


def test_the_comparison_sees_a_changed_product(monkeypatch):
    """With one figure of the product changed, the comparison finds it too."""
    monkeypatch.setitem(hazard.BASE, hazard.Means.WRITE, 3)
    with pytest.raises(AssertionError, match=r"number \d+ under"):
        differential.compare(2, 1000)


def test_the_model_is_small_and_shares_nothing():
    """It imports nothing of the product and has at most a sixth of its lines."""
    source = Path(model.__file__).read_text()
    imported = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    } | {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert not any(str(name).startswith("avow") for name in imported)
    core = Path(avow.__file__).parent / "core"
    lines = sum((core / f"{n}.py").read_text().count("\n") for n in JUDGE + MORE)
    assert source.count("\n") * 6 <= lines
