"""What others rely on does not change under its version: record schema, vectors, presets."""

import hashlib
import json
import tomllib

import pytest

from avow.adapters import policy_files
from avow.core import canonical
from avow.dialects.irl import document
from tests.tidy.sources import ROOT, history

FILE = ROOT / "specs" / "frozen.toml"
FROZEN = tomllib.loads(FILE.read_text())
VECTORS = sorted((ROOT / "tests" / "vectors").glob("*.json"))


def current():
    """Return version and digest of everything that is frozen, as it is now."""
    schema = canonical.encode(document.schema())
    found = {"irl-record-schema": (document.SCHEMA_VERSION, hashlib.sha256(schema).hexdigest())}
    for path in VECTORS:
        content = path.read_bytes()
        version = json.loads(content)["version"]
        found[f"vectors-{path.stem}"] = (version, hashlib.sha256(content).hexdigest())
    for name in policy_files.presets():
        policy = policy_files.preset(name)
        found[f"policy-{name}"] = (policy.version, policy.digest)
    return found


@pytest.mark.clause("IRL-6.16")
def test_nothing_changed_under_its_version():
    """A change needs a new version, and the digest of each version is written down for good."""
    for name, (version, digest) in current().items():
        assert FROZEN[name][version] == digest, f"{name} changed without a new version"
    assert FROZEN.keys() == current().keys()


@pytest.mark.clause("IRL-6.16")
def test_what_was_written_down_stays():
    """No commit changed or removed the digest of a version that an earlier one had recorded."""
    for text in history("src/avow/data/specs/frozen.toml"):
        assert lost(tomllib.loads(text), FROZEN) == []


def lost(before, now):
    """Return the recorded versions that are gone or have another digest."""
    return [
        (name, version)
        for name, versions in before.items()
        for version, digest in versions.items()
        if now.get(name, {}).get(version) != digest
    ]


@pytest.mark.clause("IRL-6.16")
def test_a_rewritten_digest_would_be_found():
    """A changed and a removed line both count as lost; an added one does not."""
    assert lost({"a": {"1": "x"}}, {"a": {"1": "y"}}) == [("a", "1")]
    assert lost({"a": {"1": "x"}}, {}) == [("a", "1")]
    assert lost({"a": {"1": "x"}}, {"a": {"1": "x", "2": "y"}}) == []
