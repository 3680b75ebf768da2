"""A policy that is said not to relax never gives a milder outcome than the built-in one."""

import copy
import random
import tomllib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from avow import data
from avow.adapters import policy_files
from avow.core import policy_reading, relaxing
from avow.core.assess import assess
from avow.core.errors import MalformedError
from avow.core.intent import seal
from avow.core.inventory import Inventory
from avow.core.resource import read
from avow.core.situation import Situation
from avow.core.words import Signature, Trust
from avow.dialects.irl import lower
from tests.reference import generator

DEFAULT = tomllib.loads(data.read("policies", "default.toml").decode())
OUTCOMES = st.sampled_from(["ALLOW", "LOG_ALLOW", "GATE", "DENY"])
POINTS = st.sampled_from(sorted(set(DEFAULT["points"]) - {"means"}))
INVENTORY = Inventory(
    snapshots={name: read(target) for name, target in generator.SNAPSHOTS.items()},
    facts=generator.KNOWN_FACTS,
)


@st.composite
def changes(draw):
    """Return the default policy with a few entries changed at random, for better or worse."""
    source = copy.deepcopy(DEFAULT)
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 7))
        match kind:
            case 0:
                source["points"][draw(POINTS)] = draw(st.integers(0, 60))
            case 1:
                name = draw(st.sampled_from(sorted(source["points"]["means"])))
                source["points"]["means"][name] = draw(st.integers(0, 60))
            case 2:
                source["discounts"] = {
                    "high": draw(st.integers(0, 20)),
                    "verified": draw(st.integers(0, 30)),
                }
            case 3:
                level = draw(st.sampled_from(["medium", "high", "critical"]))
                source["bands"][level]["from"] = draw(st.integers(1, 90))
            case 4:
                row = draw(st.sampled_from(sorted(source["matrix"]["least"])))
                place = draw(st.sampled_from(["local", "staging", "production"]))
                source["matrix"]["least"][row][place] = draw(OUTCOMES)
            case 5:
                entry = source["rules"][draw(st.integers(0, len(source["rules"]) - 1))]
                entry["outcome"] = draw(OUTCOMES)
            case 6:
                del source["rules"][draw(st.integers(0, len(source["rules"]) - 1))]
            case _:
                source["evidence"] = {
                    "verified_from_hazard": draw(st.integers(0, 5)),
                    "backups_assumed_from_hazard": draw(st.integers(0, 5)),
                    "rollback_needs_snapshot": draw(st.booleans()),
                }
    return source


def outcome(policy, drawn):
    registered = None if drawn.registered is None else Trust[drawn.registered.upper()]
    situation = Situation(
        policy=policy,
        registered_trust=registered,
        signature=Signature(drawn.signature),
        inventory=INVENTORY,
    )
    return assess(seal(lower.read(drawn.record), source_digest=""), situation).outcome


@pytest.mark.clause("IRL-6.12")
@given(changes(), st.integers(0, 2**32))
def test_no_relaxing_means_never_milder(source, seed):
    """Where the comparison names nothing, no random record gets a milder outcome."""
    try:
        policy = policy_reading.read(source)
    except MalformedError:
        assume(False)
    baseline = policy_files.preset("default")
    drawn = [generator.draw(random.Random(seed + n)) for n in range(20)]
    if not relaxing.compare(policy, baseline):
        assert all(outcome(policy, one) >= outcome(baseline, one) for one in drawn)


@pytest.mark.parametrize(
    ("path", "value", "phrase"),
    [
        (["points", "production"], 29, "production scores 29 and not 30"),
        (["points", "means", "delete"], 49, "delete scores 49 and not 50"),
        (["discounts", "high"], 11, "high trust is discounted by 11"),
        (["bands", "critical", "from"], 76, "critical risk starts at 76 and not 75"),
        (["bands", "critical", "outcome"], "GATE", "critical risk leads to GATE"),
        (["matrix", "least", "delete", "local"], "LOG_ALLOW", "delete in local is LOG_ALLOW"),
        (["matrix"], None, "there is no matrix"),
        (["rules", 0], None, "POL-003 is missing"),
        (["rules", 0, "outcome"], "GATE", "POL-003 is milder"),
        (["rules", 0, "when"], {"field": "means", "is": "chain"}, "POL-003 has another condition"),
        (["rules", 9, "step"], False, "POL-019 is milder"),
        (["trust", "source"], "declared", "trust is taken from the record"),
        (["evidence", "verified_from_hazard"], 4, "verified is believed without evidence"),
        (["evidence", "backups_assumed_from_hazard"], 4, "absent affects_backups counts as false"),
        (
            ["evidence", "rollback_needs_snapshot"],
            False,
            "rollback_plan is believed without a snapshot",
        ),
    ],
)
def test_each_loosening_is_named(path, value, phrase):
    """One entry softer than the built-in policy is named in words."""
    source = copy.deepcopy(DEFAULT)
    table = source
    for key in path[:-1]:
        table = table[key]
    if value is None:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    if path == ["rules", 9, "step"]:
        table["outcome"] = "ALLOW"
    got = relaxing.compare(policy_reading.read(source), policy_files.preset("default"))
    assert got == (phrase,)


def test_a_policy_does_not_relax_itself(default, irl):
    """Compared with itself nothing is softer, and a baseline without a matrix asks for none."""
    assert relaxing.compare(default, default) == ()
    assert relaxing.compare(irl, irl) == ()
    assert not any("matrix" in phrase for phrase in relaxing.compare(default, irl))
