"""How long one judgement takes, beside other engines in the same run; `make bench`.

What is timed is CPU time per call (`process_time`): bytes in, verdict with reasons out. The engines
take turns in every round, so that a slow moment of the machine hits all of them; the figure is the
median over the rounds, and each ratio is the median of the ratios within a round. Avow's time
includes strict admission, the schema, the digest, the score and every reason; the peers parse with
`json.loads` and compare fields, which favours them. Results go to `bench/results/judge.json` and
`judge.md`; docs quote the latter.
"""

import gc
import json
import os
import platform
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import avow
from avow.adapters import policy_files
from avow.core import opinion
from avow.core.policy import Policy
from bench import growth
from bench.peers import available
from bench.peers import rules as peer_rules
from tests.reference import generator

HERE = Path(__file__).parent
ROUNDS = 15
CALLS = 400
STREAM = 4000
Job = Callable[[], object]


def main() -> None:
    """Measure everything and write the results."""
    policy = policy_files.preset("default")
    result: dict[str, Any] = {"machine": machine(), "rounds": ROUNDS, "calls": CALLS}
    for name, body in (("record", peer_rules.record()), ("harmless", peer_rules.harmless())):
        result[name] = beside_peers(body, policy)
    result["stream"] = stream(policy)
    result["rules"] = growth.over_rules(peer_rules.record(), measure)
    result["bytes"] = growth.over_bytes(policy, peer_rules.record(), measure)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "judge.json").write_text(json.dumps(result, indent=1) + "\n")
    text = "\n".join(page(result)) + "\n"
    (HERE / "results" / "judge.md").write_text(text)
    sys.stdout.write(text)


def beside_peers(body: bytes, policy: Policy) -> dict[str, dict[str, float]]:
    """Return median microseconds and ratio to Avow for each engine, on one record."""
    jobs: dict[str, Job] = {"avow": lambda: avow.evaluate(body, policy=policy)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for peer in available():
            decide = peer.build()
            jobs[f"{peer.NAME} {peer.VERSION}"] = lambda decide=decide: decide(body)
    taken = measure(jobs)
    own = taken["avow"]
    return {
        name: {
            "us": round(statistics.median(rounds), 1),
            "ratio": round(statistics.median(r / o for r, o in zip(rounds, own, strict=True)), 2),
        }
        for name, rounds in taken.items()
    }


def stream(policy: Policy) -> dict[str, float]:
    """Return the cost per record of a stream of different records, remembering nothing at first."""
    source = random.Random(7)
    bodies = []
    for number in range(STREAM):
        drawn = generator.draw(source).record
        drawn["agent"]["id"] = f"agent-{number}"
        drawn["operation"]["target_resource"] = f"table:orders/{number}"
        bodies.append(json.dumps(drawn).encode())

    def judge_all(bodies: Iterable[bytes]) -> float:
        start = time.process_time()
        for body in bodies:
            avow.evaluate(body, policy=policy)
        return (time.process_time() - start) / STREAM * 1e6

    cold, warm = [], []
    for _ in range(ROUNDS // 3):
        opinion.forget()
        cold.append(judge_all(bodies))
        warm.append(judge_all(bodies))
    return {
        "records": STREAM,
        "cold_us": round(statistics.median(cold), 1),
        "warm_us": round(statistics.median(warm), 1),
    }


def measure(
    jobs: dict[str, Job], *, rounds: int = ROUNDS, calls: int = CALLS
) -> dict[str, list[float]]:
    """Return microseconds per call for each job and round; jobs take turns."""
    for job in jobs.values():
        job()
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds):
        sys.stderr.write(f"\rround {number + 1} of {rounds} ")
        for name, job in jobs.items():
            gc.collect()
            start = time.process_time()
            for _ in range(calls):
                job()
            taken[name].append((time.process_time() - start) / calls * 1e6)
    sys.stderr.write("\r" + " " * 30 + "\r")
    return taken


def machine() -> dict[str, str]:
    """Return what the figures were measured on."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": load,
    }


def page(result: dict[str, Any]) -> Iterable[str]:
    """Yield the page that docs quote."""
    yield "# Judging one record"
    yield ""
    yield f"Python {result['machine']['python']}, {result['machine']['machine']}, "
    yield f"load {result['machine']['load']}; CPU microseconds per call, median of {ROUNDS} rounds, engines in turn."
    yield "Read the ratios; absolute figures move with the machine."
    yield "Avow's time includes what the peers do not do: strict admission, the schema, the digest, the score and all reasons."
    yield "`agt-shared` is the toolkit's bare first-match evaluator on fields taken out beforehand: it checks nothing and is faster;"
    yield "`agt-govern` is the door its documentation starts with."
    for name, title in (("record", "a record that is denied"), ("harmless", "a harmless record")):
        yield ""
        yield f"| engine, {title} | us | times Avow |"
        yield "| --- | --: | --: |"
        for engine, figures in sorted(result[name].items(), key=lambda item: item[1]["us"]):
            yield f"| {engine} | {figures['us']} | {figures['ratio']} |"
    yield ""
    made = result["stream"]
    yield f"{made['records']} different records: {made['cold_us']} us each with nothing remembered, "
    yield f"{made['warm_us']} us the second time."
    for key, title in (("rules", "rules in the policy"), ("bytes", "bytes of the record")):
        yield ""
        yield f"| {title} | us |"
        yield "| --: | --: |"
        for size, figure in result[key].items():
            yield f"| {size} | {figure} |"


if __name__ == "__main__":
    main()
