"""Policy files: complete or refused, with every problem listed."""

import copy
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import avow
from avow import data
from avow.adapters import policy_files
from avow.core import condition, policy_reading
from avow.core.errors import MalformedError
from tests.records import record

DEFAULT = tomllib.loads(data.read("policies", "default.toml").decode())


def changed(path, value):
    """Return the default policy's source with one entry changed or, for None, taken out."""
    source = copy.deepcopy(DEFAULT)
    table = source
    *parents, last = path
    for key in parents:
        table = table[key]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return source


def problems(source):
    with pytest.raises(MalformedError) as caught:
        policy_reading.read(source)
    assert caught.value.code == "policy.invalid"
    return {problem.path: problem.message for problem in caught.value.problems}


@pytest.mark.clause("IRL-6.12")
@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (["name"], None, "name"),
        (["name"], "  ", "name"),
        (["version"], 1, "version"),
        (["allow_relaxing"], "yes", "allow_relaxing"),
        (["surprise"], 1, "surprise"),
        (["trust"], None, "trust"),
        (["trust", "source"], "agent", "trust.source"),
        (["evidence", "verified_from_hazard"], 6, "evidence.verified_from_hazard"),
        (["evidence", "verified_from_hazard"], True, "evidence.verified_from_hazard"),
        (["points", "production"], -1, "points.production"),
        (["points", "production"], 101, "points.production"),
        (["points", "production"], 1.5, "points.production"),
        (["points", "means", "read"], None, "points.means.read"),
        (["points", "means", "fly"], 3, "points.means.fly"),
        (["discounts", "verified"], 5, "discounts.verified"),
        (["bands", "low", "from"], 1, "bands.low.from"),
        (["bands", "high", "from"], 25, "bands.high.from"),
        (["bands", "high", "outcome"], "ALLOW", "bands.high.from"),
        (["bands", "high", "outcome"], "PERHAPS", "bands.high.outcome"),
        (["bands", "high", "id"], "two", "bands.high.id"),
        (["bands", "high", "slug"], "Two Words", "bands.high.slug"),
        (["bands", "extreme"], {}, "bands.extreme"),
        (["matrix", "least", "read", "local"], None, "matrix.least.read.local"),
        (["matrix", "least", "read", "moon"], "DENY", "matrix.least.read.moon"),
        (["matrix", "least"], 3, "matrix.least"),
        (["rules"], 3, "rules"),
        (["rules", 0], 3, "rules[0]"),
        (["rules", 0, "outcome"], None, "rules[0].outcome"),
        (["rules", 0, "says"], None, "rules[0].says"),
        (["rules", 0, "when"], None, "rules[0].when"),
        (["rules", 0, "when"], {}, "rules[0].when"),
        (["rules", 0, "when"], {"all": []}, "rules[0].when.all"),
        (["rules", 0, "when"], {"some": [1]}, "rules[0].when.some"),
        (["rules", 0, "when"], {"field": "mood", "is": "bad"}, "rules[0].when.field"),
        (["rules", 0, "when"], {"field": 3, "is": "bad"}, "rules[0].when.field"),
        (["rules", 0, "when"], {"field": "means"}, "rules[0].when"),
        (["rules", 0, "when"], {"field": "means", "is": "read", "in": []}, "rules[0].when"),
        (["rules", 0, "when"], {"field": "means", "equals": "read"}, "rules[0].when"),
        (["rules", 0, "when"], {"field": "means", "is": "fly"}, "rules[0].when.is"),
        (["rules", 0, "when"], {"field": "means", "at_least": "read"}, "rules[0].when.at_least"),
        (["rules", 0, "when"], {"field": "means", "in": []}, "rules[0].when.in"),
        (["rules", 0, "when"], {"field": "means", "in": "read"}, "rules[0].when.in"),
        (["rules", 0, "when"], {"field": "means", "in": ["read", 1]}, "rules[0].when.in[1]"),
        (["rules", 0, "when"], {"field": "hazard", "is": "4"}, "rules[0].when.is"),
        (["rules", 0, "when"], {"field": "hazard", "at_least": 9}, "rules[0].when.at_least"),
        (["rules", 0, "when"], {"field": "hazard", "in": [4, 5]}, "rules[0].when.in"),
        (["rules", 0, "hint"], None, "rules[0].hint"),
        (["rules", 0, "id"], "OUR-001", "rules[0].id"),
        (["rules", 0, "when"], {"field": "hazard", "is": True}, "rules[0].when.is"),
        (["rules", 0, "when"], {"field": "verified", "is": 1}, "rules[0].when.is"),
        (["rules", 0, "when"], {"field": "agent", "like": 1}, "rules[0].when.like"),
        (["rules", 0, "when"], {"field": "means", "like": "r*"}, "rules[0].when.like"),
        (["rules", 0, "when"], {"field": "agent", "under": "a"}, "rules[0].when.under"),
        (["rules", 0, "when"], {"field": "resource", "is": "a"}, "rules[0].when.is"),
        (["rules", 0, "because", 0, "says"], None, "rules[0].because[0].says"),
        (
            ["rules", 0, "because", 0, "when"],
            {"field": "x", "is": 1},
            "rules[0].because[0].when.field",
        ),
        (["rules", 1, "id"], "POL-003", "rules"),
        (["summary"], tomllib.loads("d = 2026-01-01")["d"], ""),
    ],
)
def test_each_defect_is_found_at_its_place(path, value, where):
    """One defect at a time: the policy is refused and the problem names the entry."""
    assert where in problems(changed(path, value))


def test_all_defects_are_listed_at_once():
    """A file with several defects gets one answer that names them all."""
    source = changed(["points", "production"], "many")
    source["rules"][0]["when"] = {"field": "mood", "is": "bad"}
    source["colour"] = "red"
    assert {"points.production", "rules[0].when.field", "colour"} <= problems(source).keys()


def test_an_empty_source_is_no_policy():
    """Nothing at all is refused, naming what is missing."""
    assert {"name", "points", "bands", "trust", "evidence"} <= problems({}).keys()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
PATHS = st.sampled_from(
    [
        ["trust"],
        ["evidence"],
        ["points"],
        ["points", "means"],
        ["discounts"],
        ["bands"],
        ["bands", "low"],
        ["matrix"],
        ["matrix", "least"],
        ["rules"],
        ["rules", 0],
        ["rules", 0, "when"],
        ["rules", 0, "because"],
    ]
)


@given(PATHS, JUNK.filter(lambda junk: junk is not None))
def test_junk_anywhere_is_refused_and_never_crashes(path, junk):
    """Any value in the place of any table either still reads as a policy or is refused."""
    try:
        policy_reading.read(changed(path, junk))
    except MalformedError as error:
        assert error.problems
    else:
        # An empty list of rules is a policy, if a soft one; `relaxing` refuses it.
        assert junk == [] or path == ["rules", 0, "because"]


def test_a_refused_condition_is_never_asked():
    """A condition that had problems cannot be evaluated by mistake."""
    problems = []
    broken = condition.read({"field": "mood", "is": 1}, "when", problems)
    assert problems
    with pytest.raises(AssertionError):
        broken.holds(None)


def test_operators():
    """Each operator means what it says, on real records."""
    base = policy_reading.merge(DEFAULT, {"name": "test"})

    def outcome(when, **fields):
        rule = {"id": "POL-101", "slug": "t", "outcome": "GATE", "says": "t", "when": when}
        source = policy_reading.merge(base, {"rules": [rule]})
        policy = policy_reading.read(source)
        found = avow.evaluate(record(**fields), policy=policy).findings
        return "POL-101" in {finding.id for finding in found}

    assert outcome({"field": "agent", "like": "agent-*"})
    assert not outcome({"field": "agent", "like": "other-*"})
    assert outcome({"field": "resource", "like": "TABLE:/ord*"})
    assert outcome({"field": "resource", "like": "table:ord?rs"})
    assert not outcome({"field": "agent", "like": "agent-[0-9]"})
    assert outcome({"field": "agent", "like": "agent-[0-9]"}, id="agent-[0-9]")
    assert outcome({"field": "resource", "under": "table:"})
    assert outcome({"field": "resource", "under": "table:orders"})
    assert not outcome({"field": "resource", "under": "table:ord"})
    assert outcome({"field": "means", "is_not": "write"})
    assert outcome({"field": "means", "not_in": ["write", "delete"]})
    assert not outcome({"field": "means", "not_in": ["write", "read"]})
    assert outcome({"field": "trust", "at_most": "low"})
    assert not outcome({"field": "trust", "at_least": "medium"})
    assert outcome({"field": "rows", "at_least": 5}), "rows nobody counted are unbounded"
    assert not outcome({"field": "rows", "at_least": 5}, estimated_rows_affected=4)
    assert outcome({"field": "rows", "at_most": 4}, estimated_rows_affected=4)
    inner = {"field": "means", "is": "read"}
    outer = {"field": "means", "is": "write"}
    assert outcome({"all": [inner, inner]})
    assert not outcome({"all": [inner, outer]})
    assert outcome({"any": [outer, inner]})
    assert not outcome({"any": [outer, outer]})
    assert not outcome({"none": [inner]})
    assert outcome({"none": [outer], "all": [inner]})
    assert not outcome({"none": [outer], "all": [outer], "any": [inner]})
    assert outcome({"all": [{"any": [outer, {"none": [outer]}]}]})


def test_digests_follow_meaning_and_not_comments(tmp_path):
    """Comments and spacing leave the digest alone; a changed figure does not."""
    text = data.read("policies", "default.toml").decode()
    plain = policy_files.preset("default").digest
    file = tmp_path / "p.toml"
    file.write_text("# a comment\n" + text.replace(" = ", "  =  "))
    assert policy_files.load(file).digest == plain
    file.write_text(text.replace("production = 30", "production = 31"))
    assert policy_files.load(file).digest != plain


def test_merging_joins_tables_and_replaces_rules_by_id():
    """An extension changes what it names, adds new rules at the end, and keeps the rest."""
    rule = {**DEFAULT["rules"][1], "outcome": "DENY"}
    added = {**DEFAULT["rules"][1], "id": "POL-999"}
    merged = policy_reading.merge(DEFAULT, {"points": {"production": 40}, "rules": [added, rule]})
    assert merged["points"]["production"] == 40
    assert merged["points"]["irreversible"] == 25
    assert [r["id"] for r in merged["rules"]][-1] == "POL-999"
    assert len(merged["rules"]) == len(DEFAULT["rules"]) + 1
    assert merged["rules"][1]["outcome"] == "DENY"


def test_two_rules_of_one_id_in_an_extension_are_refused():
    """The later of two would win in silence, so neither does."""
    rule = DEFAULT["rules"][1]
    with pytest.raises(MalformedError, match="`POL-011` names two rules"):
        policy_reading.merge(DEFAULT, {"rules": [{**rule, "outcome": "DENY"}, rule]})
