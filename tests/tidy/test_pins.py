"""Dependencies: pinned with hashes, each with a reason, from no named host."""

import re

import pytest

from avow.adapters import installation
from tests.tidy.sources import ROOT, text_files

LOCKS = sorted(ROOT.glob("requirements*.txt"))
SOURCES = sorted(ROOT.glob("requirements*.in"))
# Spelled in pieces, so that this file does not name what it forbids.
HOSTS = re.compile(
    r"(?i)(?:py" + r"pi\.org|python" + r"hosted|npm" + r"js\.|registry\.|debian\.org|crates\.io"
    r"|index-url|find-links|trusted-host)"
)
PIN = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?==([^\s;\\]+)")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_pin_is_exact_and_hashed(lock):
    """Each requirement is one exact version with at least one hash."""
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    assert len(entries) > 5
    for entry in entries:
        assert PIN.match(entry), entry[:60]
        assert "--hash=sha256:" in entry, entry[:60]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_every_dependency_has_a_reason(source):
    """Each line says in a comment why it is there, and has its lock beside it."""
    for line in source.read_text().splitlines():
        if line and not line.startswith(("#", "-")):
            assert re.search(r"#\s*\w.{8,}", line), line
    assert source.with_suffix(".txt") in LOCKS


def test_no_file_names_a_registry():
    """No configuration, lock or page names the host of a package registry."""
    found = [
        f"{path.name}: {match.group()}"
        for path in text_files()
        for match in HOSTS.finditer(path.read_text(encoding="utf-8"))
        if path.name != "test_pins.py"
    ]
    assert found == []


def test_the_doctor_knows_the_versions_that_were_tested():
    """What `avow doctor` compares with is what requirements.in pins."""
    pins = {
        match.group(1).lower(): match.group(2)
        for line in (ROOT / "requirements.in").read_text().splitlines()
        if (match := PIN.match(line))
    }
    assert {name: pins[name] for name in installation.TESTED} == installation.TESTED


def test_locks_hold_what_their_sources_ask_for():
    """Every pin of a source stands in its lock with the same version."""
    for source in SOURCES:
        lock = re.sub(r"\[[a-z,]+\]", "", source.with_suffix(".txt").read_text().lower())
        for line in source.read_text().splitlines():
            if match := PIN.match(line):
                assert f"{match.group(1).lower()}=={match.group(2)}" in lock
