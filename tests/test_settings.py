"""Settings: defaults, file, environment and flags, in this order; nothing unknown is ignored."""

import pytest

from avow import settings
from avow.core.errors import MalformedError


def load(environment=None, file=None, flags=None):
    return settings.load(environment=environment or {}, file=file, flags=flags or {})


def refused(**given):
    with pytest.raises(MalformedError) as caught:
        load(**given)
    return {problem.path: problem.code for problem in caught.value.problems}


def test_the_later_source_wins_and_says_so(tmp_path, monkeypatch):
    """A flag beats a variable beats the file beats the default; the origin is kept."""
    monkeypatch.chdir(tmp_path)
    key = "limits.declaration_bytes_max"
    assert (load().whole(key), load().values[key].origin) == (262144, "default")
    (tmp_path / "avow.toml").write_text("[limits]\ndeclaration_bytes_max = 2048\n")
    assert (load().whole(key), load().values[key].origin) == (2048, "avow.toml")
    environment = {"AVOW_LIMITS_DECLARATION_BYTES_MAX": "4096", "HOME": "/x"}
    assert load(environment).whole(key) == 4096
    assert load(environment).values[key].origin == "AVOW_LIMITS_DECLARATION_BYTES_MAX"
    assert load(environment, flags={key: 8192}).whole(key) == 8192


@pytest.mark.parametrize(
    ("environment", "path", "code"),
    [
        ({"AVOW_LIMIT": "1"}, "AVOW_LIMIT", "settings.unknown_key"),
        (
            {"AVOW_LIMITS_DECLARATION_DEPTH_MAX": "3"},
            "limits.declaration_depth_max",
            "settings.invalid",
        ),
        (
            {"AVOW_LIMITS_DECLARATION_DEPTH_MAX": "x"},
            "limits.declaration_depth_max",
            "settings.invalid",
        ),
        (
            {"AVOW_LIMITS_DECLARATION_DEPTH_MAX": "٣٢"},
            "limits.declaration_depth_max",
            "settings.invalid",
        ),
        ({"AVOW_POLICY_SOURCE": " "}, "policy.source", "settings.invalid"),
        (
            {"AVOW_LIMITS_DECLARATION_DEPTH_MAX": "9" * 5000},
            "limits.declaration_depth_max",
            "settings.invalid",
        ),
    ],
)
def test_what_is_not_understood_refuses_to_start(environment, path, code):
    """A misspelt variable and a value out of bounds are errors, not defaults."""
    assert refused(environment=environment) == {path: code}


def test_all_problems_come_at_once(tmp_path):
    """A file with several faults is answered with all of them."""
    file = tmp_path / "x.toml"
    file.write_text(
        "[limits]\ndeclaration_depth_max = true\nspeed = 1\n[policy]\nsource = 3\n[a.b.c]\nd = 1\n"
    )
    assert refused(file=file) == {
        "a.b": "settings.unknown_key",
        "limits.declaration_depth_max": "settings.invalid",
        "limits.speed": "settings.unknown_key",
        "policy.source": "settings.invalid",
    }


@pytest.mark.parametrize("content", [None, "x = ", "\xff", "x = [" * 5000, "x = " + "9" * 5000])
def test_a_file_that_cannot_be_read_refuses_to_start(tmp_path, content):
    """A named file that is missing or is not TOML is an error."""
    file = tmp_path / "x.toml"
    if content is not None:
        file.write_bytes(content.encode("latin-1"))
    assert set(refused(file=file).values()) == {"settings.unreadable"}


def test_the_variables_of_the_test_run_are_not_settings():
    """What steers the campaigns is none of Avow's business."""
    assert load({"AVOW_VECTORS": "x", "AVOW_CAMPAIGN": "full"}).text("policy.source") == "default"
