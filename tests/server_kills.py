"""A real server under load, killed at random moments: no acknowledged verdict may be lost."""

import contextlib
import random
import tempfile
import threading
import time
from pathlib import Path

import httpx

from avow import settings
from avow.clients.verifier import verify
from avow.engine import receipts
from avow.wiring.stores import OpenStore
from tests import serving
from tests.records import body, record

CALLERS = 8


def survive(seed: int, count: int) -> int:
    """Kill a server that many times, checking after each; return how much was acknowledged."""
    source, acknowledged = random.Random(seed), {}
    with tempfile.TemporaryDirectory() as folder:
        key = ""
        for _ in range(count):
            served = serving.start(folder)
            key = key or served.key
            acknowledged |= _under_load(served, key, source.random() * 0.4)
            _check(folder, acknowledged, seed)
    return len(acknowledged)


def _under_load(served, key, after_s):
    """Declare from many callers until the server is killed; return what it acknowledged."""
    got, ended = {}, threading.Event()

    def caller(number):
        sent = body(record(type="read", target_environment="local", session_id=f"s{number}"))
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=served.address, headers=headers, timeout=10) as client:
            while not ended.is_set():
                with contextlib.suppress(httpx.HTTPError):
                    answer = client.post("/v1/evaluate", content=sent)
                    if answer.status_code == 200:
                        said = answer.json()
                        got[said["journal"]["position"]] = said["journal"]["hash"]

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    while not got:
        time.sleep(0.01)
    time.sleep(after_s)
    served.process.kill()
    served.process.wait()
    ended.set()
    for thread in threads:
        thread.join()
    served.process.stdout.close()
    return got


def _check(folder, acknowledged, seed):
    """Start again and verify: every acknowledged verdict is there, at its place, with its hash."""
    opened = OpenStore(settings.load(environment={}, flags={"store.data": str(folder)}))
    try:
        lines, keys = _export(opened), opened.ring()
    finally:
        opened.close()
    report = verify(lines, anchors=(Path(folder) / "anchor.notes").read_text(), keys=keys)
    if not report.is_good:
        raise AssertionError(f"seed {seed}: {report.problems}")
    hashes = {
        int(line.split(b" ", 2)[0]): "sha256:" + line.split(b" ", 2)[1].decode()
        for line in lines[1:]
    }
    lost = [position for position, hashed in acknowledged.items() if hashes.get(position) != hashed]
    if lost:
        raise AssertionError(f"seed {seed}: acknowledged and lost: {lost[:5]}")


def _export(opened):
    pages = opened.read(lambda view: list(receipts.export(view, opened.origin)))
    return [line for page in pages for line in page.splitlines(keepends=True)]
