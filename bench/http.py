"""How many declarations a second the server answers over HTTP, beside other servers; `make bench`.

Each engine is a real process on loopback, under the load of `wrk` with one thread. The engines take
turns in every round, so that a slow moment of the machine hits all of them; figures are medians
over the rounds, and each ratio is the median of the ratios within a round. Afterwards the journal
that Avow wrote meanwhile is verified. `bench.postgres` and `bench.growth` load in the same way.
`AVOW_BENCH=quick` tries everything at a fraction and writes no results.
"""

import asyncio
import base64
import contextlib
import json
import os
import platform
import queue
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import apsw
import httpx

from avow.adapters.signing.signer import Ed25519Signer
from avow.channels.cli.up import FIRST
from avow.channels.http import serve
from avow.core import canonical, did, signing
from bench import journal as journals
from bench.peers import rules as peer_rules
from tests import serving

HERE = Path(__file__).parent
ROOT = HERE.parent
QUICK = os.environ.get("AVOW_BENCH") == "quick"
# Where servers keep their data meanwhile: on the disk of the checkout, unseen by git.
PLACE = Path(sys.prefix)
CONNECTIONS = (1, 16, 64)
ROUNDS = 3
SECONDS = 1 if QUICK else 4
SIGNED = 8_000 * SECONDS
REQUIRED, AIM = 3_000, 5_100
_ENDLESS_S = 36_000
_LARGE = str(10**9)
# No agent asks as fast as a benchmark: the limits are there and are counted, but out of reach.
WIDE = {
    f"AVOW_{name}": _LARGE
    for name in (
        "RATE_BURST",
        "RATE_PER_MINUTE",
        *(f"BREAKER_{kind}_MOST" for kind in ("READ", "CHANGE", "DELETE", "AUTH")),
    )
}
_PEERS = PLACE / "peers" / "node_modules" / "@cerbos"
_DONE = """
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"refused":%d,"broken":%d,"p50_us":%.1f,"p99_us":%.1f}\\n',
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""
FRESH_KEY = """
local n, prefix = 0, "%s-"
function request()
  n = n + 1
  wrk.headers["Idempotency-Key"] = prefix .. n
  return wrk.format()
end
"""
FROM_FILE = """
local n, bodies = 0, {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
function request()
  n = n + 1
  return wrk.format(nil, nil, nil, bodies[n])
end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked, of whom, and which status every answer must have.

    `script` is Lua that runs before every round and makes one request differ from the next.
    """

    address: str
    body: bytes
    headers: dict[str, str]
    status: int = 200
    script: Callable[[], str] = str

    def check(self) -> httpx.Response:
        """Ask once and return the answer, or raise if it is not what is expected."""
        answer = httpx.post(self.address, content=self.body, headers=self.headers)
        if answer.status_code != self.status:
            raise AssertionError(f"{self.address} answers {answer.status_code}: {answer.text}")
        return answer

    @contextlib.contextmanager
    def running(self, connections: int, seconds: int = _ENDLESS_S) -> "Iterator[Running]":
        """Load with so many connections for so long, or until told to end."""
        lines = [f'wrk.headers["{name}"] = "{value}"' for name, value in self.headers.items()]
        lines += ['wrk.method = "POST"', f"wrk.body = [==[{self.body.decode()}]==]"]
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "load.lua"
            script.write_text("\n".join([*lines, self.script(), _DONE]))
            asked = [f"-t1 -c{connections} -d{seconds}s --timeout 30s -s {script} {self.address}"]
            process = subprocess.Popen(
                ["wrk", *asked[0].split()],  # noqa: S607 - the one on the path
                stdout=subprocess.PIPE,
                text=True,
            )
            try:
                yield Running(self, process)
            finally:
                process.kill()
                process.wait()

    def measured(self, connections: int, seconds: int = SECONDS) -> dict[str, float]:
        """Load for so long and return what was measured."""
        with self.running(connections, seconds) as load:
            return load.ended()


@dataclass(frozen=True, slots=True)
class Running:
    """A load under way."""

    load: Load
    process: subprocess.Popen[str]

    def stop(self) -> None:
        """Ask it to end early."""
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> dict[str, float]:
        """Wait for its end and return the figures, or raise if an answer was not as expected."""
        told, _ = self.process.communicate(timeout=_ENDLESS_S)
        found = json.loads(told.strip().splitlines()[-1])
        requests = found["requests"]
        # wrk counts statuses from 400 on; a verdict of DENY is one of them.
        expected = requests if self.load.status >= 400 else 0  # noqa: PLR2004 - see above
        if found["broken"] or found["refused"] != expected or not requests:
            raise AssertionError(f"{self.load.address}: unexpected answers: {found}")
        return {
            "requests": requests,
            "per_second": requests / found["us"] * 1e6,
            "p50_ms": found["p50_us"] / 1000,
            "p99_ms": found["p99_us"] / 1000,
        }


def main() -> None:
    """Measure and write the results; or, told so, be one of the bare servers."""
    if len(sys.argv) > 1:
        bare(sys.argv[1], sys.argv[2:])
        return
    if missing_wrk("http"):
        return
    with tempfile.TemporaryDirectory(dir=PLACE) as named, contextlib.ExitStack() as stack:
        folder = Path(named)
        served = stack.enter_context(server(folder / "data"))
        loads = own_loads(served, folder)
        engines = {f"avow, {name}": load for name, load in loads.items()}
        (folder / "answer.json").write_bytes(loads["ALLOW"].check().content)
        engines |= bare_loads(stack, folder)
        missing = []
        if peer := cerbos(stack, folder):
            engines[f"cerbos {peer[0]}, allow"] = peer[1]
        else:
            missing.append("Cerbos could not be had: its npm package was not installed.")
        warm_up(engines)
        before = journals.size_of(folder / "data")
        rows, acknowledged = in_turn(engines)
        memory = rss_mb(served.process.pid)
        # The server is stopped in an orderly way before its journal is looked at.
        stack.close()
        written = journals.size_of(folder / "data") - before
        if written < acknowledged:
            raise AssertionError(f"{acknowledged} verdicts acknowledged, {written} written")
        journal = journals.checked(folder / "data")
    result = {
        "machine": machine(),
        "rounds": ROUNDS,
        "seconds": SECONDS,
        "rows": rows,
        "rss_mb": memory,
        "journal": journal | {"acknowledged": acknowledged, "written": written},
        "missing": missing,
    }
    write("http", result, page(result))


def own_loads(served: serving.Served, folder: Path) -> dict[str, Load]:
    """Return what Avow is asked: three outcomes, fresh keys and signed records."""
    address = f"{served.address}/v1/evaluate"
    read, migration = ((ROOT / "examples" / f"{name}.json") for name in ("read", "migration"))
    signed, make = signing_agent(served, folder)
    return {
        "ALLOW": Load(address=address, body=read.read_bytes(), headers=served.headers),
        "DENY": Load(
            address=address, body=json.dumps(FIRST).encode(), headers=served.headers, status=403
        ),
        "GATE, a repetition": Load(
            address=address, body=migration.read_bytes(), headers=served.headers, status=202
        ),
        "ALLOW, a fresh Idempotency-Key each": Load(
            address=address,
            body=read.read_bytes(),
            headers=served.headers,
            script=lambda: FRESH_KEY % secrets.token_hex(6),
        ),
        "ALLOW, signed": Load(address=address, body=signed(), headers=served.headers, script=make),
    }


def signing_agent(
    served: serving.Served, folder: Path
) -> tuple[Callable[[], bytes], Callable[[], str]]:
    """Register an agent with a key; return what signs one record, and what signs a round's."""
    key = Ed25519Signer.generate("bench")
    name = did.of(key.public_key)
    agent = {"id": "signing-agent", "trust": "medium", "did": name}
    httpx.post(f"{served.address}/v1/agents", json=agent, headers=served.headers).raise_for_status()
    record = json.loads((ROOT / "examples" / "read.json").read_bytes())
    record["agent"]["id"] = agent["id"]
    document = canonical.encode(record)

    def signed() -> bytes:
        at_ms, seal = time.time_ns() // 1_000_000, secrets.token_hex(16)
        value = key.sign(signing.message(name, seal, at_ms, document))
        told = base64.b64encode(value).decode()
        seals = {"did": name, "id": seal, "signed_ms": at_ms, "value": told}
        return json.dumps(record | {"signature": seals}).encode()

    def make() -> str:
        # As many as no server answers in a round: each signature is accepted once.
        file = folder / "signed.jsonl"
        file.write_bytes(b"\n".join(signed() for _ in range(SIGNED)))
        return FROM_FILE % file

    return signed, make


def bare_loads(stack: contextlib.ExitStack, folder: Path) -> dict[str, Load]:
    """Start the two bare servers: what the stack costs, and what durability alone costs."""
    body = (ROOT / "examples" / "read.json").read_bytes()
    answer = str(folder / "answer.json")
    given = {
        "bare uvicorn, a fixed answer": ("fixed", answer),
        "bare uvicorn, one durable row each": ("durable", answer, str(folder / "bare.sqlite")),
    }
    loads = {}
    for name, arguments in given.items():
        process = stack.enter_context(
            started([sys.executable, "-m", "bench.http", *arguments], stdout=subprocess.PIPE)
        )
        address = process.stdout.readline().strip()
        loads[name] = Load(address=address, body=body, headers={})
    return loads


def bare(kind: str, arguments: list[str]) -> None:
    """Be a server with Avow's stack and nothing of Avow: it answers always the same."""
    answer = Path(arguments[0]).read_bytes()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer)).encode()),
    ]
    keep = Rows(Path(arguments[1])).keep if kind == "durable" else None

    async def application(_: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        if keep is not None:
            await keep(body)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    sys.setswitchinterval(0.0005)
    binding = serve.Binding(host="127.0.0.1", port=0)
    serve.serve(
        application,
        binding,
        serve.bound(binding),
        started=lambda address: print(address, flush=True),
        stopping=lambda: None,
        beside=asyncio.Event().wait,
    )


class Rows:
    """A table with one row for each request, committed in groups at synchronous FULL."""

    def __init__(self, path: Path) -> None:
        self._raw = apsw.Connection(str(path))
        for setting in ("journal_mode = WAL", "synchronous = FULL"):
            self._raw.execute(f"PRAGMA {setting}").fetchall()
        self._raw.execute("CREATE TABLE rows (position INTEGER PRIMARY KEY, body BLOB)")
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def keep(self, body: bytes) -> "asyncio.Future[None]":
        """Return what is done once the row is on the disk."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.put((body, future))
        return future

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            self._raw.execute("BEGIN IMMEDIATE")
            self._raw.executemany("INSERT INTO rows (body) VALUES (?)", [(b,) for b, _ in batch])
            self._raw.execute("COMMIT")
            futures = [future for _, future in batch]
            futures[0].get_loop().call_soon_threadsafe(_settle, futures)


def _settle(futures: "list[asyncio.Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def cerbos(stack: contextlib.ExitStack, folder: Path) -> tuple[str, Load] | None:
    """Start Cerbos with the rules of the peers; return its version and load, if it is there."""
    found = sorted(_PEERS.glob("cerbos-linux-*/cerbos-linux-*"))
    if not found:
        return None
    policies = folder / "policies"
    policies.mkdir()
    (policies / "record.json").write_text(json.dumps(_cerbos_policy()))
    ports = [free_port(), free_port()]
    given = {
        "storage.disk.directory": policies,
        "server.httpListenAddr": f"127.0.0.1:{ports[0]}",
        "server.grpcListenAddr": f"127.0.0.1:{ports[1]}",
        "telemetry.disabled": "true",
    }
    command = [str(found[0]), "server", "--log-level=error"]
    command += [f"--set={name}={value}" for name, value in given.items()]
    stack.enter_context(started(command, stdout=subprocess.DEVNULL))
    address = f"http://127.0.0.1:{ports[0]}"
    wait_for(f"{address}/_cerbos/health")
    for body, effect in ((peer_rules.record(), "DENY"), (peer_rules.harmless(), "ALLOW")):
        load = Load(
            address=f"{address}/api/check/resources",
            body=json.dumps(_cerbos_request(json.loads(body))).encode(),
            headers={"Content-Type": "application/json"},
        )
        if f"EFFECT_{effect}" not in load.check().text:
            raise AssertionError(f"Cerbos does not say {effect}")
    package = json.loads((found[0].parent / "package.json").read_bytes())
    return package["version"], load


def _cerbos_policy() -> dict[str, Any]:
    signs = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<", "is": "==", "in": "in"}
    listed = [
        {
            "name": rule.id,
            "actions": ["*"],
            "effect": "EFFECT_ALLOW" if rule.effect == "permit" else "EFFECT_DENY",
            "roles": ["*"],
            "condition": {
                "match": {
                    "all": {
                        "of": [
                            {"expr": f"R.attr.{c.path} {signs[c.op]} {json.dumps(c.value)}"}
                            for c in rule.when
                        ]
                    }
                }
            },
        }
        for rule in peer_rules.RULES
    ]
    policy = {"version": "default", "resource": "record", "rules": listed}
    return {"apiVersion": "api.cerbos.dev/v1", "resourcePolicy": policy}


def _cerbos_request(record: dict[str, Any]) -> dict[str, Any]:
    operation = record["operation"]
    resource = {"kind": "record", "id": operation["target_resource"], "attr": record}
    return {
        "requestId": "bench",
        "principal": {"id": record["agent"]["id"], "roles": ["agent"]},
        "resources": [{"resource": resource, "actions": [operation["type"]]}],
    }


def warm_up(engines: dict[str, Load]) -> None:
    """Load every engine for a moment; what it does first is not what it does all day."""
    for name, load in engines.items():
        tell(f"warming up: {name}")
        load.check()
        load.measured(16, 1)
    # What was under way when the last load ended is written by now.
    time.sleep(0.5)


def in_turn(engines: dict[str, Load]) -> tuple[list[dict[str, Any]], int]:
    """Return the figures of each engine, and how many verdicts Avow acknowledged and recorded."""
    taken: dict[tuple[str, int], list[dict[str, float]]] = {}
    acknowledged = 0
    for number in range(ROUNDS):
        for name, load in engines.items():
            for connections in (16,) if ", a fresh" in name or "signed" in name else CONNECTIONS:
                tell(f"round {number + 1} of {ROUNDS}: {name}, {connections} connections")
                found = load.measured(connections)
                taken.setdefault((name, connections), []).append(found)
                recorded = name.startswith("avow") and "GATE" not in name
                acknowledged += int(found["requests"]) if recorded else 0
    tell("")
    rows = []
    for (name, connections), rounds in sorted(taken.items(), key=lambda item: item[0][1]):
        own = taken["avow, ALLOW", connections]
        ratios = [r["per_second"] / o["per_second"] for r, o in zip(rounds, own, strict=True)]
        rows.append(
            {"engine": name, "connections": connections, "ratio": round(middle(ratios), 2)}
            | medians(rounds)
        )
    return rows, acknowledged


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of every figure, rounded."""
    found = {name: middle([one[name] for one in rounds]) for name in rounds[0]}
    return {
        name: round(value) if name in {"requests", "per_second"} else round(value, 2)
        for name, value in found.items()
    }


def middle(figures: Iterable[float]) -> float:
    """Return the median."""
    return statistics.median(figures)


@contextlib.contextmanager
def server(data: Path, *arguments: str) -> Iterator[serving.Served]:
    """Run Avow as it is installed, in a process of its own; it is gone afterwards in any case."""
    served = serving.start(data, *arguments, environment=WIDE)
    try:
        yield served
        if served.process.poll() is not None:
            raise AssertionError("the server ended by itself")
        serving.stop(served)
    finally:
        served.process.kill()
        served.process.wait()


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> "Iterator[subprocess.Popen[str]]":
    """Run a process of ours; it is gone afterwards in any case."""
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(address: str, seconds: float = 20.0) -> None:
    """Wait until something answers there."""
    until = time.monotonic() + seconds
    while True:
        try:
            httpx.get(address).raise_for_status()
        except httpx.HTTPError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def free_port() -> int:
    """Return a port that nobody listens on."""
    with contextlib.closing(serve.bound(serve.Binding(host="127.0.0.1", port=0))) as taken:
        return int(taken.getsockname()[1])


def rss_mb(process_id: int, field: str = "VmRSS") -> float:
    """Return the memory of a process in megabytes, as the kernel counts it."""
    lines = Path(f"/proc/{process_id}/status").read_text("utf-8").splitlines()
    found = next(line for line in lines if line.startswith(f"{field}:"))
    return round(int(found.split()[1]) / 1024, 1)


def machine() -> dict[str, str]:
    """Return what the figures were measured on, and with which versions."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    names = ("avow", "uvicorn", "uvloop", "httptools", "apsw")
    wrk = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False)  # noqa: S607 - the one on the path
    return {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": load,
        "versions": ", ".join(f"{name} {metadata.version(name)}" for name in names),
        "wrk": (wrk.stdout + wrk.stderr).split()[1],
    }


def told_machine(result: dict[str, Any]) -> str:
    """Return the line of a page that says where it was measured."""
    found = result["machine"]
    return (
        f"Python {found['python']}, {found['machine']}, load {found['load']} at the end;"
        f" {found['versions']}; wrk {found['wrk']} with one thread on the same machine."
    )


def missing_wrk(name: str) -> bool:
    """Return whether there is nothing to load with, and say so on the page."""
    if shutil.which("wrk"):
        return False
    told = "Not measured: `wrk` could not be had on this machine; see `bench/prepare.sh`."
    write(name, {"missing": [told]}, [f"# {name}", "", told])
    return True


def write(name: str, result: dict[str, Any], lines: Iterable[str]) -> None:
    """Print the page and, unless it was a quick try, write the results."""
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if not QUICK:
        (HERE / "results" / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        (HERE / "results" / f"{name}.md").write_text(text)


def tell(what: str) -> None:
    """Say on the terminal what is being done."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what:<76}" if what else "\r" + " " * 76 + "\r")


def page(result: dict[str, Any]) -> Iterator[str]:
    """Yield the page that docs quote."""
    rows, journal = result["rows"], result["journal"]
    own = {row["connections"]: row["per_second"] for row in rows if row["engine"] == "avow, ALLOW"}
    yield "# The server over HTTP"
    yield ""
    yield told_machine(result)
    yield f"Medians of {result['rounds']} rounds of {result['seconds']} s, engines in turn; latencies as `wrk` sees them, each connection asking again when it was answered."
    yield "Read the ratios; absolute figures move with the machine, and load and server share its cores."
    yield ""
    met = "met" if own[16] >= REQUIRED else "not met"
    passed = "passed" if own[16] > AIM else "not passed"
    yield f"Required: {REQUIRED:,} verdicts a second at 16 connections. Measured: {own[16]:,}, {met}."
    yield f"The aim is to pass OPA, {passed}: the project's notes record 4,100 to 5,100 a second at 16 connections without a durable log, measured elsewhere, not in this run, for OPA could not be had here."
    yield "Avow answers after the verdict, its reasons and the declaration are on the disk (synchronous FULL), chained and hashed; Cerbos judges the twenty rules of `bench/peers/rules.py` and writes nothing."
    yield "The bare servers have Avow's stack (uvicorn, httptools, uvloop) and nothing of Avow: one answers the same bytes, the other commits the body as one row first, in groups, at synchronous FULL."
    yield "GATE is asked again while the question to the human is open, so it is answered from what is kept and writes nothing; DENY is answered with 403, as expected."
    yield from result["missing"]
    for connections in CONNECTIONS:
        yield ""
        yield f"| engine, {connections} connection{'s' * (connections > 1)} | requests/s | times Avow's ALLOW | p50 ms | p99 ms |"
        yield "| --- | --: | --: | --: | --: |"
        listed = [row for row in rows if row["connections"] == connections]
        for row in sorted(listed, key=lambda row: -row["per_second"]):
            yield f"| {row['engine']} | {row['per_second']:,} | {row['ratio']} | {row['p50_ms']} | {row['p99_ms']} |"
    yield ""
    yield f"The journal of this run: {journal['entries']:,} entries, verified against {journal['anchors']:,} signed checkpoints, {journal['unanchored']} unanchored after the stop."
    yield f"{journal['acknowledged']:,} verdicts were acknowledged under load and {journal['written']:,} entries written; the rest was under way when a load ended."
    yield f"The server's memory at the end: {result['rss_mb']} MB."
    yield "Not measured: TLS, other machines, OPA."


if __name__ == "__main__":
    main()
