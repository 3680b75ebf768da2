"""Whatever arrives, the answer is a verdict or a list of problems, and never a permission."""

import pytest

from tests.fuzz import bodies, campaign
from tests.fuzz.campaign import at_the_command_line, at_the_reader
from tests.fuzz.http import over_http

READER = 5_000
COMMAND_LINE = 2_500
HTTP = 5_000
HARMLESS = (
    bodies.BODY.replace(b"delete", b"read")
    .replace(b"production", b"local")
    .replace(b'"total"', b'"none"')
    .replace(b"false", b"true")
)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [1, 2])
def test_at_the_reader(seed):
    """Ten thousand bodies in two runs: every one refused, gated or denied."""
    ended = at_the_reader(seed, READER)
    assert sum(ended.values()) == READER
    assert ended["malformed"] > READER // 3
    assert ended["DENY"] > READER // 40


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [3, 4, 5, 6])
def test_at_the_command_line(seed):
    """Ten thousand bodies in four runs through `avow evaluate -`: exit code 2, 20 or 30."""
    assert sum(at_the_command_line(seed, COMMAND_LINE).values()) == COMMAND_LINE


def test_an_allowed_body_would_be_noticed(monkeypatch):
    """With a harmless record among the bodies both campaigns fail."""
    monkeypatch.setattr(campaign, "bodies", lambda *_: [HARMLESS])
    for run in (at_the_reader, at_the_command_line):
        with pytest.raises(AssertionError):
            run(1, 1)


def test_the_dangerous_record_is_denied(monkeypatch):
    """The record that everything is made of is denied, whole and unbroken."""
    monkeypatch.setattr(campaign, "bodies", lambda *_: [bodies.BODY, bodies.BODY])
    assert at_the_reader(1, 2) == {"DENY": 2}
    assert at_the_command_line(1, 2) == {"DENY": 2}


@pytest.mark.campaign
@pytest.mark.clause("ICNLI-14.3.01")
@pytest.mark.parametrize("seed", [7, 8])
def test_over_http(seed):
    """Ten thousand bodies in two runs to a real server: refused, gated or denied."""
    ended = over_http(seed, HTTP)
    assert sum(ended.values()) == HTTP
    assert ended["malformed"] > HTTP // 3


def test_an_allowed_body_over_http_would_be_noticed():
    """With a harmless record among the bodies the campaign over HTTP fails."""
    with pytest.raises(AssertionError):
        over_http(1, 1, lambda *_: [HARMLESS])
