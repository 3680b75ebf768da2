"""Fuzzed bodies over HTTP to a real server: no crash, no 5xx, no allow, and the journal verifies."""

import tempfile
from collections import Counter
from pathlib import Path

import httpx

from avow.clients.verifier import verify
from avow.core.codes import CODES
from tests import serving
from tests.fuzz.bodies import bodies

NAMES = {202: "GATE", 403: "DENY", 400: "malformed", 422: "malformed"}
PATHS = ("/v1/evaluate", "/evaluate", "/v1/simulate")


def over_http(seed: int, count: int, source=bodies) -> Counter[str]:
    """Send every body to a server of its own; return how they ended."""
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, serving.server(Path(folder)) as served:
        with httpx.Client(base_url=served.address, headers=served.headers, timeout=30) as client:
            for number, body in enumerate(source(seed, count)):
                ended[_ended(client, PATHS[number % len(PATHS)], body)] += 1
            assert client.get("/healthz").status_code == 200
            keys = client.get("/v1/journal/keys").text
            export = client.get("/v1/journal/export").content.splitlines(keepends=True)
        serving.stop(served)
        anchors = (Path(folder) / "anchor.notes").read_text()
        report = verify(export, anchors=anchors, keys=keys)
        assert report.is_good, report.problems
    return ended


def _ended(client, path, body):
    answer = client.post(path, content=body)
    said = answer.json()
    if "decision" in said:
        # A simulation says what would be decided, and answers 200 whatever that is.
        assert said["decision"] in {"GATE", "DENY"}, body
        expected = 200 if path == "/v1/simulate" else {"GATE": 202, "DENY": 403}[said["decision"]]
        assert answer.status_code == expected, body
        return said["decision"]
    assert answer.status_code in {400, 422}, (answer.status_code, body)
    assert said["code"] in CODES, body
    assert said["problems"], body
    assert all(problem["code"] in CODES for problem in said["problems"]), body
    return NAMES[answer.status_code]
