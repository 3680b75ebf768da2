"""What every test may use, and how much work the laws do."""

import os

import pytest
from hypothesis import HealthCheck, settings

from avow.adapters import policy_files
from avow.core.policy import Policy

settings.register_profile(
    "check", max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "full", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
FULL = os.environ.get("AVOW_CAMPAIGN") == "full"
settings.load_profile("full" if FULL else "check")


@pytest.fixture(scope="session")
def default() -> Policy:
    return policy_files.preset("default")


@pytest.fixture(scope="session")
def irl() -> Policy:
    return policy_files.preset("irl-0.1")
