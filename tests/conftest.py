"""Settings for all tests."""

from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from tests import plain  # noqa: F401  # first of all that loads rich
from tests.leaks import WATCH, watch_everything

# A busy machine is no reason to fail: deadlines and generation speed belong into benchmarks.
settings.register_profile(
    "test", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("slow", parent=settings.get_profile("test"), max_examples=10_000, derandomize=False)


def pytest_configure(config: pytest.Config) -> None:
    """The same examples in every `make test`; ever new ones, and more of them, in `make test-slow`."""
    settings.load_profile("slow" if config.option.markexpr == "slow" else "test")
    watch_everything(WATCH)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A planted secret that shows while a test runs, or is set up, or ends, is a failure of the test."""
    report = yield
    for title, text in report.sections:
        if title.endswith(report.when):
            WATCH.see(title, text)
    leaks = WATCH.take()
    if leaks and report.outcome != "failed":
        report.outcome = "failed"
        report.longrepr = "\n".join(leaks)
    return report
