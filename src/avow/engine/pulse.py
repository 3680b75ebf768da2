"""The pulse: how fast agents have been acting, kept in memory and true up to the journal's end.

A cache of what the journal says: entries of other nodes are folded in before a command looks, and
open breakers come from the store, so that a restart forgets no trip. Not safe for several threads;
the writer owns it.

Clauses: IRL-6.08.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from avow.core import rate
from avow.core.rate import Breaker, Counted, Limit, Position
from avow.core.words import Means

_KEPT_MAX = 20_000
_MEANS = {means.value: means for means in Means}


class Pulse:
    """The breakers of every agent and kind of effect."""

    def __init__(self, limits: Mapping[Means, Limit]) -> None:
        self._limits = limits
        self._breakers: OrderedDict[tuple[str, Means], Breaker] = OrderedDict()
        self._open: dict[tuple[str, Means], int] = {}
        # What was before each change that is not committed yet, to go back to.
        self._undone: list[tuple[tuple[str, Means], Breaker]] = []

    def limit(self, means: Means) -> Limit:
        """Return the limit for a kind of effect."""
        return self._limits[means]

    def count(self, agent: str, means: Means, *, now_ms: int) -> Counted:
        """Count one operation and return where the breaker stands after it."""
        key = (agent, means)
        counted = rate.count(
            self._breakers.get(key) or Breaker(), self._limits[means], now_ms=now_ms
        )
        self._keep(key, counted.breaker)
        return counted

    def opened(self, agent: str, means: Means, *, at_ms: int) -> None:
        """Take note of a breaker that opened, here or on another node."""
        self._keep((agent, means), Breaker((), at_ms))

    def closed(self, agent: str, means: Means) -> None:
        """Take note of a breaker that closed; counting starts anew."""
        self._keep((agent, means), Breaker())

    def due(self, *, now_ms: int) -> list[tuple[str, Means]]:
        """Return the breakers that are to close by time."""
        return [
            key
            for key, opened_ms in list(self._open.items())
            if now_ms - opened_ms >= self._limits[key[1]].quiet_ms
        ]

    def is_open(self, agent: str, means: Means, *, now_ms: int) -> bool:
        """Return whether operations of that kind are stopped now."""
        breaker = self._breakers.get((agent, means)) or Breaker()
        return breaker.position(self._limits[means], now_ms=now_ms) is Position.OPEN

    def mark(self) -> int:
        """Return how far the transaction has come, to go back to."""
        return len(self._undone)

    def back(self, mark: int) -> None:
        """Undo what was counted since the mark: its transaction was not committed."""
        while len(self._undone) > mark:
            key, before = self._undone.pop()
            self._put(key, before)

    def settle(self) -> None:
        """Take everything that was counted as committed."""
        self._undone.clear()

    def fold(self, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Fold in entries that somebody else wrote, in order."""
        for body in bodies:
            match body.get("kind"):
                case "verdict":
                    for means in body["means"]:
                        self.count(body["agent"], _MEANS[means], now_ms=body["at"])
                case "breaker" if body["state"] == "open":
                    self.opened(body["agent"], _MEANS[body["means"]], at_ms=body["at"])
                case "breaker":
                    self.closed(body["agent"], _MEANS[body["means"]])
                case _:
                    pass

    def _keep(self, key: tuple[str, Means], breaker: Breaker) -> None:
        self._undone.append((key, self._breakers.get(key) or Breaker()))
        self._put(key, breaker)

    def _put(self, key: tuple[str, Means], breaker: Breaker) -> None:
        self._breakers[key] = breaker
        self._breakers.move_to_end(key)
        if breaker.opened_ms is None:
            self._open.pop(key, None)
        else:
            self._open[key] = breaker.opened_ms
        while len(self._breakers) > _KEPT_MAX + len(self._open):
            oldest = next(one for one in self._breakers if one not in self._open)
            del self._breakers[oldest]
