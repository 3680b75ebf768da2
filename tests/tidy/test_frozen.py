"""What others rely on does not change under its version: record schema, vectors, presets."""

import hashlib
import json
import tomllib

import pytest

from avow.adapters import policy_files
from avow.core import canonical
from avow.dialects.irl import document
from tests.tidy.sources import ROOT

FROZEN = tomllib.loads((ROOT / "specs" / "frozen.toml").read_text())
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
def test_a_change_would_be_found():
    """A digest moves with the smallest change of content."""
    schema = document.schema()
    before = canonical.digest("x", canonical.encode(schema))
    schema["title"] = "Another"
    assert canonical.digest("x", canonical.encode(schema)) != before
