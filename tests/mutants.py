"""Breaks the product on purpose, one line at a time, and expects the tests to notice.

The product is copied aside; the tests that run are those a reader would run first, or those a
mutant names itself.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TESTS = (
    "tests/core",
    "tests/dialects",
    "tests/contract/test_policy_source.py",
    "tests/reference",
    "tests/clients",
    "tests/test_api.py",
)


def load() -> list[dict[str, str]]:
    """Return the mutants of `mutants.toml`."""
    parsed: dict[str, Any] = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())
    mutants: list[dict[str, str]] = parsed["mutants"]
    return mutants


def is_caught(mutant: dict[str, str]) -> bool:
    """Return whether some test fails with the product broken in this way."""
    tests = mutant.get("tests", "").split() or TESTS
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        file = source / "avow" / mutant["file"]
        file.write_text(file.read_text().replace(mutant["old"], mutant["new"], 1))
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
        environment.pop("AVOW_CAMPAIGN", None)
        # What a broken copy runs is nobody's coverage.
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=False,
        )
    return ended.returncode == 1
