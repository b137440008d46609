"""Settings for all tests."""

import contextlib
import gc
import logging
import os
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from functools import cache, wraps
from pathlib import Path

import httpcore2
import pytest
from hypothesis import HealthCheck, settings
from tests import plain_output, skips, unit_tier  # noqa: F401  # plain_output: before anything that imports rich
from tests.leaks import WATCH, watch_everything
from tests.paths import SHARED

from ase_exporter.ase import login_file, login_ledger
from ase_exporter.untrusted import redaction

unit_tier.enter()
INSIDE = pytest.StashKey[unit_tier.Inside]()

# No deadlines: a busy machine must not fail a test. Benchmarks measure speed.
settings.register_profile(
    "test", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("slow", parent=settings.get_profile("test"), max_examples=10_000, derandomize=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--unit", action="store_true", help="only tests that use no server, program or browser")
    parser.addoption("--no-unit", action="store_true", help="only the tests that --unit leaves out")
    parser.addoption("--no-new-skips", action="store_true", help="a skip that allowed_skips.yaml lacks fails")


def pytest_configure(config: pytest.Config) -> None:
    """The same examples in every `make test`; new ones each time, and more of them, in `make test-slow`."""
    if config.option.no_new_skips:
        config.pluginmanager.register(skips)
    settings.load_profile("slow" if config.option.markexpr == "slow" else "test")
    # Each request without a client of its own reads a hundred authorities, which takes 40 ms of CPU.
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)
    # Each login hashes its password slowly on purpose: with one salt for all, the hash of each is remembered.
    slow = login_ledger._fingerprint
    login_ledger._fingerprint = wraps(slow)(lambda password, salt: slow(password, ""))  # type: ignore[assignment]
    watch_everything(WATCH)
    # No exporter of a test may take the state directory of one that is installed.
    state = tempfile.TemporaryDirectory(prefix="state-of-tests-")
    config.add_cleanup(state.cleanup)
    os.environ["STATE_DIRECTORY"] = state.name
    # Texts that are compared have times of this zone.
    os.environ["TZ"] = "UTC"
    time.tzset()
    if config.option.unit:
        config.stash[INSIDE] = unit_tier.Inside()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look at nothing for garbage while tests are imported, nor at what is there then in later collections: it would be
    a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of the other tier: importing them, and making all their tests, takes seconds."""
    if collection_path.match("test_*.py"):
        left_out = config.option.unit and unit_tier.is_outside(collection_path)
        left_out = left_out or (config.option.no_unit and unit_tier.is_inside(collection_path))
        return True if left_out else None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the other tier, begin with the files that take longest, so that no process is left with
    one at the end, and skip what reads shared material where there is none. A slow test has an hour."""
    if config.option.unit or config.option.no_unit:
        chosen = [item for item in items if unit_tier.contains(item) is config.option.unit]
        config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
        items[:] = chosen
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))
    longest = {item.path for item in items if item.get_closest_marker("e2e")}
    items.sort(key=lambda item: item.path not in longest)
    if not SHARED.is_dir():
        absent = pytest.mark.skip(reason="no ../shared beside the project")
        for item in items:
            if item.get_closest_marker("shared"):
                item.add_marker(absent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """With --unit, nothing outside can be reached while a test runs."""
    with item.config.stash.get(INSIDE, contextlib.nullcontext()):
        return (yield)


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """A command that sets up logging inside a test must not change what the next tests log."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.fixture(autouse=True)
def no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that ends its process when the driver hangs must not end that of the next tests."""
    if watchdog := sys.modules.get("ase_exporter.ase.watchdog"):
        monkeypatch.setattr(watchdog.SYSTEM_WATCHDOG, "give_up", lambda: None)


@pytest.fixture(autouse=True)
def no_refusals() -> None:
    """Ports are used again: a login that one test has had refused must not be suspended in the next one."""
    login_ledger.process_ledger.cache_clear()
    Path(os.environ["STATE_DIRECTORY"], login_file.FILE).unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password of one test, which may be a plain word, must not be redacted from what other tests expect."""
    monkeypatch.setattr(redaction, "_secrets", {})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test during which a planted secret was revealed, in its set-up and teardown too."""
    report = yield
    for title, text in report.sections:
        if title.endswith(report.when):
            WATCH.see(title, text)
    leaks = WATCH.take()
    if leaks and report.outcome != "failed":
        report.outcome = "failed"
        report.longrepr = "\n".join(leaks)
    return report
