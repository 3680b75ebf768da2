"""The guide for operators is tried: what it says to run, runs."""

import configparser
import re
import shlex

import httpx
import pytest

from tests import serving
from tests.offices import avow
from tests.tidy.sources import ROOT

GUIDE = (ROOT / "docs" / "guide" / "operate.md").read_text()


@pytest.mark.clause("IRL-6.04")
def test_the_service_unit_starts_a_server(tmp_path):
    """The start command of the unit for a virtual machine starts a server that stops in order."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(re.search(r"```ini\n(.*?)```", GUIDE, re.DOTALL)[1])
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    binary, command, *options = shlex.split(unit["Service"]["ExecStart"])
    assert (binary.rsplit("/", 1)[1], command) == ("avow", "up")
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert given.pop("--data") == f"/var/lib/{unit['Service']['StateDirectory']}"
    assert given.pop("--port") == "8800"
    rest = [part for pair in given.items() for part in pair]
    with serving.server(tmp_path / "data", *rest) as served:
        assert httpx.get(f"{served.address}/healthz", timeout=20).status_code == 200
        assert serving.stop(served) == 0
    assert avow("doctor", "--data", tmp_path / "data").code == 0


def test_every_command_of_the_guide_exists():
    """Each command and each option that the guide names is one that Avow has."""
    lines = re.findall(r"^\$ (?:sudo -u avow )?(?:\S*/)?avow (.*)$", GUIDE, re.MULTILINE)
    lines += re.findall(r"`avow ([a-z]+(?: [a-z]+)?[^`]*)`", GUIDE)
    assert len(lines) > 12
    for line in lines:
        words = shlex.split(line)
        command = [word for word in words[:2] if re.fullmatch(r"[a-z]+", word)]
        called = avow(*command, "--help")
        assert called.code == 0, line
        for option in (word for word in words if word.startswith("--")):
            assert option in called.out, line
