"""The guide to the client is run, from top to bottom, against a real server."""

import subprocess
import sys
from pathlib import Path

import pytest

from avow.clients.calls import Calls
from tests import serving
from tests.e2e.test_readme import blocks

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guide" / "client.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving.server(tmp_path_factory.mktemp("guide") / "data") as running:
        yield running


def test_the_guide_prints_what_it_says(served):
    """Its blocks, run as one program in a fresh process, print the blocks of text in order."""
    given = f"address, admin_key = {served.address!r}, {served.key!r}\n"
    shown = subprocess.run(
        [sys.executable, "-c", given + "\n".join(blocks("python", GUIDE))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stderr == ""
    assert shown.stdout == "".join(blocks("text", GUIDE))


def test_the_guide_names_only_calls_there_are():
    """Every method that the guide calls on a client exists."""
    called = {
        word.split("(")[0].split(".")[1]
        for word in GUIDE.replace("`", " ").split()
        if word.startswith(("client.", "admin.")) and "(" in word
    }
    assert len(called) > 5
    assert called <= vars(Calls).keys()
