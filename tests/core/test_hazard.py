"""Hazard: derived from the effect, raised by what is missing."""

import itertools

import pytest

from avow.core import hazard
from avow.core.words import Environment, Means, Truth

P, S = Environment.PRODUCTION, Environment.STAGING
Y, N, U = Truth.YES, Truth.NO, Truth.UNKNOWN


@pytest.mark.parametrize(
    ("means", "environment", "reversible", "backups", "expected"),
    [
        (Means.READ, P, N, Y, 0),
        (Means.WRITE, S, Y, N, 2),
        (Means.WRITE, S, N, N, 2),
        (Means.WRITE, P, N, N, 3),
        (Means.WRITE, P, U, N, 3),
        (Means.WRITE, S, Y, Y, 4),
        (Means.WRITE, S, Y, U, 2),
        (Means.NETWORK, S, Y, N, 2),
        (Means.EXECUTE, S, Y, N, 3),
        (Means.AUTH, S, Y, N, 3),
        (Means.DELETE, S, Y, N, 3),
        (Means.DELETE, S, N, N, 4),
        (Means.DELETE, S, U, N, 4),
        (Means.SHELL, S, Y, N, 3),
        (Means.CHAIN, S, Y, N, 4),
    ],
)
def test_examples(means, environment, reversible, backups, expected):
    """Each means has its base; backups, deletes without a way back and production raise it."""
    got = hazard.of(means, environment=environment, reversible=reversible, affects_backups=backups)
    assert got == expected


def test_worse_facts_never_lower_it():
    """Over all arguments, a worse environment, reversibility or backup fact never lowers."""
    places = [Environment.LOCAL, S, P]
    for means, (a, place), (b, way), (c, hit) in itertools.product(
        Means, enumerate(places), enumerate([Y, U, N]), enumerate([N, U, Y])
    ):
        here = hazard.of(means, environment=place, reversible=way, affects_backups=hit)
        for worse_place, worse_way, worse_hit in itertools.product(
            places[a:], [Y, U, N][b:], [N, U, Y][c:]
        ):
            there = hazard.of(
                means, environment=worse_place, reversible=worse_way, affects_backups=worse_hit
            )
            assert there >= here
