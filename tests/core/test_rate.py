"""Rates and the breaker: bounded whatever the order of events and the moods of a clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avow.core import rate
from avow.core.rate import Allowance, Breaker, Limit, Position

FIVE = Allowance(burst=5, per_minute=60)
LIMIT = Limit(most=3, window_ms=1000, quiet_ms=5000)


def spend_all(times, allowance=FIVE):
    bucket, answers = rate.full(allowance, now_ms=0), []
    for now_ms in times:
        spent = rate.spend(bucket, allowance, now_ms=now_ms)
        bucket = spent.bucket
        answers.append(spent)
    return answers


@pytest.mark.clause("IRL-2.05")
def test_a_burst_and_then_the_rate():
    """Five at once, the sixth is refused with the wait, and after it one more passes."""
    answers = spend_all([0] * 6)
    assert [one.allowed for one in answers] == [True] * 5 + [False]
    assert answers[5].retry_after_ms == 1000
    assert [one.allowed for one in spend_all([0] * 5 + [999, 1000, 1001])][5:] == [
        False,
        True,
        False,
    ]


@given(st.lists(st.integers(0, 120_000), max_size=300), st.integers(1, 9), st.integers(0, 600))
def test_never_more_than_burst_and_rate(times, burst, per_minute):
    """Whatever the moments, a span never sees more than the burst and what was refilled in it."""
    allowance = Allowance(burst=burst, per_minute=per_minute)
    allowed = [
        now for now, one in zip(times, spend_all(times, allowance), strict=True) if one.allowed
    ]
    latest = max([0, *times])
    assert len(allowed) <= burst + latest * per_minute // 60_000 + 1


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=60))
def test_a_clock_that_jumps_back_gives_nothing(times):
    """Going back in time never refills: the same moments in order allow at least as many."""
    jumping = sum(one.allowed for one in spend_all(times))
    assert jumping <= 5 + max(times) // 1000 + 1
    again = spend_all([max(times)] * 10)
    assert sum(one.allowed for one in again) == 5


def test_asking_often_does_not_stop_the_refill():
    """A refused principal that asks every millisecond still gets its use when it is due."""
    answers = spend_all([0] * 5 + list(range(1, 1001)))
    assert [one.allowed for one in answers[5:]].index(True) == 999


def test_nothing_per_minute_means_only_the_burst():
    """With a rate of zero the wait is a minute, and then still nothing."""
    answers = spend_all([0, 0, 10**9], Allowance(burst=1, per_minute=0))
    assert [one.allowed for one in answers] == [True, False, False]
    assert answers[1].retry_after_ms == 60_000


def count_all(times, breaker=None):
    breaker, seen = breaker or Breaker(), []
    for now_ms in times:
        counted = rate.count(breaker, LIMIT, now_ms=now_ms)
        breaker = counted.breaker
        seen.append(counted)
    return seen


@pytest.mark.clause("IRL-6.08")
def test_one_too_many_trips_it_and_quiet_closes_it():
    """The fourth within a second trips; it stays open for the quiet period, then closes once."""
    seen = count_all([0, 1, 2, 3, 4, 5002, 5003, 5004])
    assert [one.position for one in seen[:3]] == [Position.CLOSED] * 3
    assert (seen[3].position, seen[3].tripped) == (Position.OPEN, True)
    assert (seen[4].position, seen[4].tripped) == (Position.OPEN, False)
    assert seen[5].position is Position.OPEN
    assert (seen[6].position, seen[6].closed) == (Position.CLOSED, True)
    assert (seen[7].position, seen[7].closed) == (Position.CLOSED, False)


def test_slow_operations_never_trip_it():
    """Three in every second, and a slice more, go on for ever."""
    assert all(one.position is Position.CLOSED for one in count_all(range(0, 100_000, 351)))


@given(st.lists(st.integers(0, 20_000), max_size=80).map(sorted))
def test_no_window_sees_more_than_allowed(times):
    """Among those that pass, no window of the limit holds more than the limit."""
    passed = [
        now
        for now, one in zip(times, count_all(times), strict=True)
        if one.position is Position.CLOSED
    ]
    for now in passed:
        assert sum(now - LIMIT.window_ms < other <= now for other in passed) <= LIMIT.most


def test_knocking_does_not_prolong_the_quiet():
    """Operations refused while it is open do not push its closing away."""
    seen = count_all([0, 0, 0, 0, *range(100, 5000, 100), 5000])
    assert seen[-1].position is Position.CLOSED


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=60))
def test_a_jumping_clock_never_lets_more_pass(times):
    """Whatever the order of moments, no more pass within a window than the limit allows."""
    seen = count_all(times)
    run = 0
    for one in seen:
        run = run + 1 if one.position is Position.CLOSED and not one.closed else 0
    assert run <= len(times)
    together = [one.position for one in count_all([max(times)] * 5)]
    assert together == [Position.CLOSED] * 3 + [Position.OPEN] * 2
