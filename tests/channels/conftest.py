"""Servers for the tests of channels: real processes, one for each module that asks."""

import httpx
import pytest

from tests import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Run a server for the tests of one module."""
    with serving.server(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture(scope="module")
def admin(served):
    """Give a client that speaks as the first admin."""
    with httpx.Client(base_url=served.address, headers=served.headers, timeout=20) as client:
        yield client


@pytest.fixture
def anonymous(served):
    """Give a client that has no key."""
    with httpx.Client(base_url=served.address, timeout=20) as client:
        yield client
