"""Settings for all tests."""

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail: deadlines and generation speed belong into benchmarks.
settings.register_profile(
    "test", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("slow", parent=settings.get_profile("test"), max_examples=10_000, derandomize=False)


def pytest_configure(config: pytest.Config) -> None:
    """The same examples in every `make test`; ever new ones, and more of them, in `make test-slow`."""
    settings.load_profile("slow" if config.option.markexpr == "slow" else "test")
