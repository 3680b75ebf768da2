"""Pages are compared with reality."""

import re

import pytest

from avow.core.codes import CODES
from docs import generate
from tests.tidy.sources import ROOT, modules

PAGES = generate.pages()
MARKDOWN = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name):
    """Each generated page is what `make docs` would write now."""
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name]


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    """Every relative link of a page names a file that exists."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_code_is_used():
    """Each error code is raised or named somewhere outside its table."""
    source = "".join(path.read_text() for path in modules() if path.name != "errors.py")
    source += (ROOT / "src/avow/core/errors.py").read_text().split("class Problem")[1]
    assert [code for code in CODES if f'"{code}"' not in source] == []


def test_rulings_are_numbered_and_short():
    """Rulings count up without gaps, and each fits on half a page."""
    files = sorted((ROOT / "docs" / "rulings").glob("[0-9]*.md"))
    assert [int(path.name[:4]) for path in files] == list(range(1, len(files) + 1))
    for path in files:
        text = path.read_text()
        assert len(text.splitlines()) <= 40
        for part in ("## Question", "## Ruling", "## Consequence"):
            assert part in text
