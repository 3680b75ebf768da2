"""The roster: which principal a key belongs to, remembered for a moment, and how fast it may ask.

What it remembers may be as old as `FRESH_S`: that is how long a revoked key can still read. It can
never declare in that time, because the transaction asks the registry itself.

Clauses: ICNLI-14.1.01, ICNLI-14.3.02.
"""

import asyncio
from collections import OrderedDict
from typing import TypeVar

from avow.core import agent as agents
from avow.core import rate
from avow.core.agent import KEY_BYTES, KEY_PREFIX, Agent
from avow.core.errors import RefusedError
from avow.core.principal import Person, Principal, Right
from avow.core.rate import Allowance, Bucket
from avow.engine.ports import Clock, Reading, View
from avow.engine.register import principal_of

FRESH_S = 2.0
T = TypeVar("T")
_KEPT_MAX = 10_000
_KEY_LENGTH = len(KEY_PREFIX) + 2 * KEY_BYTES


class Roster:
    """Turns keys into principals."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._principals: OrderedDict[str, tuple[float, Principal]] = OrderedDict()
        self._looking: dict[str, asyncio.Future[Principal]] = {}
        self._agents: OrderedDict[str, tuple[float, Agent | None]] = OrderedDict()

    def remembered(self, key: str) -> Principal | None:
        """Return the principal of a key that was looked up a moment ago."""
        known = self._principals.get(key)
        if known is None or known[0] < asyncio.get_running_loop().time():
            return None
        return known[1]

    async def principal(self, key: str) -> Principal:
        """Return the principal that a key belongs to, or raise."""
        if known := self.remembered(key):
            return known
        _check_shape(key)
        # Whoever asks for the same key meanwhile waits for the one look that is under way.
        looking = self._looking.get(key)
        if looking is None:
            looking = asyncio.ensure_future(self._looked_up(key))
            self._looking[key] = looking
            looking.add_done_callback(lambda _: self._looking.pop(key, None))
        return await asyncio.shield(looking)

    async def _looked_up(self, key: str) -> Principal:
        found = await asyncio.to_thread(self._reading.read, lambda view: by_key(view, key))
        _kept(self._principals, key, found)
        return found

    async def agent(self, agent_id: str) -> Agent | None:
        """Return an agent by its id."""
        known = self._agents.get(agent_id)
        if known is not None and known[0] >= asyncio.get_running_loop().time():
            return known[1]

        def find(view: View) -> Agent | None:
            return view.agents.find(agent_id)

        found = await asyncio.to_thread(self._reading.read, find)
        _kept(self._agents, agent_id, found)
        return found

    def forget(self) -> None:
        """Look everybody up again: somebody was added or revoked."""
        self._principals.clear()
        self._agents.clear()


def _kept(memory: OrderedDict[str, tuple[float, T]], key: str, found: T) -> None:
    memory[key] = (asyncio.get_running_loop().time() + FRESH_S, found)
    memory.move_to_end(key)
    if len(memory) > _KEPT_MAX:
        memory.popitem(last=False)


def by_key(view: View, key: str) -> Principal:
    """Return the principal of a key from the registry, or raise."""
    _check_shape(key)
    digest = agents.key_digest(key)
    found: Agent | Person | None = view.agents.by_key(digest) or view.people.by_key(digest)
    if found is None:
        raise RefusedError("auth.unknown", "the key is not one of ours")
    if found.revoked_ms is not None:
        raise RefusedError("auth.revoked", f"the key of `{found.id}` was revoked")
    return principal_of(found)


def _check_shape(key: str) -> None:
    """Refuse what cannot be a key before anybody is asked about it."""
    if not key:
        raise RefusedError("auth.missing", "no key was sent")
    if not key.startswith(KEY_PREFIX) or len(key) != _KEY_LENGTH or not key.isascii():
        raise RefusedError("auth.unknown", "the key is not one of ours")


def demand(principal: Principal, right: Right) -> Principal:
    """Return the principal if it has the right, or raise."""
    if not principal.may(right):
        roles = ", ".join(sorted(role.value for role in principal.roles))
        raise RefusedError("auth.forbidden", f"the role {roles} may not {right.value}")
    return principal


class Limiter:
    """How fast each principal may ask, on this node."""

    def __init__(self, allowance: Allowance, clock: Clock) -> None:
        self._allowance = allowance
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    def spend(self, principal_id: str) -> None:
        """Take one use from a principal's allowance, or raise with the wait."""
        now_ms = self._clock.now_ms()
        bucket = self._buckets.get(principal_id) or rate.full(self._allowance, now_ms=now_ms)
        spent = rate.spend(bucket, self._allowance, now_ms=now_ms)
        self._buckets[principal_id] = spent.bucket
        if len(self._buckets) > _KEPT_MAX:
            # The one that came first; if it comes again it begins with a full allowance.
            del self._buckets[next(iter(self._buckets))]
        if not spent.allowed:
            told = f"`{principal_id}` asks faster than its allowance"
            raise RefusedError("rate.limited", told, retry_after_ms=spent.retry_after_ms)
