"""Rates: how fast one principal may act, and the breaker that trips when operations come too fast.

Both are pure: a state, an event and a time give a new state and an answer. Times are milliseconds
of one clock and are handed in; a clock that runs backwards never gives credit. Storing the state
and telling people about a tripped breaker is the engine's.

Clauses: IRL-2.05, IRL-6.08.
"""

from dataclasses import dataclass
from enum import StrEnum

from avow.core.finding import Finding, Source
from avow.core.words import Means, Outcome

SLICES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much is allowed: `burst` at once, refilled at `per_minute`."""

    burst: int
    per_minute: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is left of an allowance, in thousandths of one use, as of a moment."""

    left_milli: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Spent:
    """The answer to one use: whether it was allowed, the bucket after it, and when to try again."""

    allowed: bool
    bucket: Bucket
    retry_after_ms: int


def full(allowance: Allowance, *, now_ms: int) -> Bucket:
    """Return an untouched bucket."""
    return Bucket(allowance.burst * 1000, now_ms)


def spend(bucket: Bucket, allowance: Allowance, *, now_ms: int) -> Spent:
    """Take one use out of a bucket.

    1. What was refilled since the last look is added, up to the burst.
    2. A clock that ran backwards adds nothing, and does not move the bucket back in time.
    3. One use costs 1000; if there is less, nothing is taken and the wait is told.
    """
    # 1, 2
    now_ms = max(now_ms, bucket.at_ms)
    refilled = (now_ms - bucket.at_ms) * allowance.per_minute // 60
    left = min(bucket.left_milli + refilled, allowance.burst * 1000)
    # Time that was too short to refill anything is kept, so that often asking costs nothing.
    at_ms = now_ms if refilled or left == allowance.burst * 1000 else bucket.at_ms
    # 3
    if left >= 1000:  # noqa: PLR2004 - one use
        return Spent(allowed=True, bucket=Bucket(left - 1000, at_ms), retry_after_ms=0)
    missing = 1000 - left
    wait_ms = -(-missing * 60 // allowance.per_minute) if allowance.per_minute else 60_000
    return Spent(allowed=False, bucket=Bucket(left, at_ms), retry_after_ms=wait_ms)


class Position(StrEnum):
    """Whether operations pass."""

    CLOSED = "closed"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """More than `most` operations within `window_ms` trip the breaker for `quiet_ms`."""

    most: int
    window_ms: int
    quiet_ms: int


@dataclass(frozen=True, slots=True)
class Breaker:
    """How many operations of one kind an agent made lately, and since when the breaker is open.

    `slots` holds, oldest first, the number of a slice of the window and how many fell into it.
    """

    slots: tuple[tuple[int, int], ...] = ()
    opened_ms: int | None = None

    def position(self, limit: Limit, *, now_ms: int) -> Position:
        """Return whether operations pass now; it closes by itself after the quiet period."""
        if self.opened_ms is None or now_ms - self.opened_ms >= limit.quiet_ms:
            return Position.CLOSED
        return Position.OPEN


@dataclass(frozen=True, slots=True)
class Counted:
    """The answer to one operation: the breaker after it, where it stands, and what just changed."""

    breaker: Breaker
    position: Position
    tripped: bool
    closed: bool


def count(breaker: Breaker, limit: Limit, *, now_ms: int) -> Counted:
    """Count one operation.

    1. While open and not yet quiet long enough, nothing passes and nothing is counted: the quiet
       period runs from the trip and cannot be prolonged by knocking.
    2. After the quiet period it closes, and counting starts anew.
    3. Slices that lie wholly outside the window are forgotten; one that lies in it by a part counts
       whole, so the breaker may trip early by a slice and never late.
    4. One more than allowed trips it.
    """
    # 1
    if breaker.position(limit, now_ms=now_ms) is Position.OPEN:
        return Counted(breaker, Position.OPEN, tripped=False, closed=False)
    # 2
    closed = breaker.opened_ms is not None
    slots = () if closed else breaker.slots
    # 3
    slice_ms = max(1, limit.window_ms // SLICES)
    # A clock that ran backwards counts into the newest slice.
    here = max(now_ms // slice_ms, slots[-1][0] if slots else 0)
    oldest = (now_ms - limit.window_ms) // slice_ms
    kept = tuple([slot for slot in slots if slot[0] >= oldest])
    if kept and kept[-1][0] == here:
        kept = (*kept[:-1], (here, kept[-1][1] + 1))
    else:
        kept = (*kept, (here, 1))
    # 4
    if sum([slot[1] for slot in kept]) > limit.most:
        return Counted(Breaker((), now_ms), Position.OPEN, tripped=True, closed=closed)
    return Counted(Breaker(kept), Position.CLOSED, tripped=False, closed=closed)


@dataclass(frozen=True, slots=True)
class Tripped:
    """An open breaker, as the judge is told of it."""

    means: Means
    limit: Limit
    opened_ms: int

    def finding(self) -> Finding:
        """Return the denial that an operation of this kind gets while the breaker is open."""
        window_s, quiet_s = self.limit.window_ms / 1000, self.limit.quiet_ms / 1000
        within = f"{self.limit.most} {self.means.value} operations in {window_s:g} s"
        return Finding(
            "POL-910",
            "breaker-open",
            Source.JUDGE,
            Outcome.DENY,
            f"the circuit breaker is open: more than {within}",
            f"stop and look: it closes {quiet_s:g} s after it tripped, or by an admin",
        )
