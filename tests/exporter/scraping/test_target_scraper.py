"""Scrapes of a simulated server: what each fault may cost."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.simulated import PASSWORD, Simulated, run

from ase_exporter.ase.connection import Connection
from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_exporter.ase.timing import TIMING
from ase_exporter.catalogue import load_catalogue
from ase_exporter.changes.detect import ConfigWatcher
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.demo.scaling import FAST_COLLECTORS
from ase_exporter.metrics.exposition import render_text
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper

# What a busy machine may add to a deadline before a test calls it missed; without one, each would last for ever.
SLACK = 20.0
CATALOGUE, _ = load_catalogue()


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server


@pytest.fixture
def server(shared: Simulated) -> Iterator[Simulated]:
    yield shared
    shared.faults.hang = shared.faults.ignore_attention = shared.faults.mute = shared.faults.refuse = False
    shared.faults.only = ""
    shared.faults.seconds_per_row = 0.0


def scraper(
    server: Simulated, user: str = "monitor", auth: Auth | None = None, **seams: Any
) -> TargetScraper:
    host, port = server.address
    return TargetScraper(
        Target(name="ONE", host=host, port=port),
        auth or Auth(user=user, password=PASSWORD),
        Module(),
        Scrape(connect_timeout=60.0, budget=None),
        CATALOGUE,
        **seams,
    )


def scrape(scraper: TargetScraper, seconds: float = 60.0, *collectors: str) -> ScrapeResult:
    """One scrape, which must be over by its deadline."""
    result = ScrapeResult(time.monotonic() + seconds, frozenset(collectors) or None)
    scraper.scrape(result)
    assert time.monotonic() < result.deadline + SLACK
    return result


def text(result: ScrapeResult) -> str:
    return render_text(result.all_families(stuck=False))


@pytest.mark.parametrize(
    ("collectors", "watched"), [((), True), (FAST_COLLECTORS, True), (("state",), False)]
)
def test_changes_are_watched_if_they_are_asked_for(
    server: Simulated, collectors: Sequence[str], watched: bool
) -> None:
    """A demo at a fast pace asks for few collectors, and yet shows what changes."""
    one = scraper(server, watch=ConfigWatcher(60.0))
    seen = scrape(one, 60.0, *collectors)
    one.close()
    assert (seen.config_snapshot is not None) == watched


def test_a_healthy_server_is_read_whole(server: Simulated) -> None:
    one = scraper(server)
    seen = scrape(one)
    one.close()
    assert seen.summary.up
    assert not seen.summary.error
    assert {name for name, outcome in seen.outcomes.items() if outcome.reason} == set()
    assert "\nase_up 1.0\n" in text(seen)


def test_one_connection_serves_all_scrapes_and_is_closed(server: Simulated) -> None:
    one = scraper(server)
    for _ in range(3):
        scrape(one)
        assert server.listener.connections == 1
    assert "ase_exporter_connects_total 1.0" in text(scrape(one))
    one.close()
    server.drained()
    assert server.listener.connections == 0


def test_a_server_that_hangs_is_answered_in_time_and_recovers(server: Simulated) -> None:
    one = scraper(server)
    scrape(one)
    server.faults.hang = True
    hung = scrape(one, 3.0)
    assert not hung.summary.up
    assert hung.error_kind in ("", "deadline")
    assert "\nase_up 0.0\n" in text(hung)
    server.faults.hang = False
    assert scrape(one).summary.up
    one.close()


def test_a_collector_that_hangs_costs_itself_alone(server: Simulated) -> None:
    # The cancelled statement may come back late, and the collector that hangs leaves the others enough time.
    timing = replace(TIMING, cancel_grace=SLACK, collector_share=0.05)
    one = scraper(server, timing=timing, open_connection=partial(Connection.open, timing=timing))
    scrape(one)
    server.faults.only = "monDeviceIO"
    server.faults.hang = True
    seen = scrape(one)
    assert seen.summary.up
    failed = {name for name, outcome in seen.outcomes.items() if outcome.reason}
    assert failed == {"devices"}
    assert 'ase_exporter_collector_success{collector="devices"} 0.0' in text(seen)
    assert 'ase_exporter_collector_success{collector="spinlocks"} 1.0' in text(seen)
    again = scrape(one)
    assert list(again.outcomes)[-1] == "devices" or list(again.outcomes)[-2] == "devices"
    one.close()


def test_a_lost_connection_keeps_what_was_read_and_the_next_scrape_is_whole(server: Simulated) -> None:
    one = scraper(server)
    whole = scrape(one)
    server.drop()
    lost = scrape(one)
    assert lost.error_kind == "lost"
    assert set(scrape(one).outcomes) == set(whole.outcomes)
    one.close()


def test_a_refused_password_is_tried_twice_and_then_waits_for_another(
    server: Simulated, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("wrong", encoding="utf-8")
    auth = Auth(user="monitor", password_file=secret)
    one = scraper(server, auth=auth, timing=replace(TIMING, login_pause=(0.0, 0.0)))
    kinds = [scrape(one).error_kind for _ in range(LOGIN_ATTEMPTS + 3)]
    assert kinds == ["login_failed"] * LOGIN_ATTEMPTS + ["login_suspended"] * 3
    secret.write_text(PASSWORD, encoding="utf-8")
    assert scrape(one).summary.up
    one.close()


def test_between_two_tries_of_a_refused_password_there_is_a_pause(server: Simulated) -> None:
    one = scraper(server, auth=Auth(user="monitor", password="wrong"))
    assert [scrape(one).error_kind for _ in range(3)] == [
        "login_failed",
        "login_suspended",
        "login_suspended",
    ]


def test_an_unreadable_secret_is_reported_until_it_can_be_read(server: Simulated, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    one = scraper(server, auth=Auth(user="monitor", password_file=secret))
    assert scrape(one).error_kind == "secret_unreadable"
    secret.write_text(PASSWORD, encoding="utf-8")
    assert scrape(one).summary.up
    one.close()


def test_without_mon_role_the_server_is_up_and_the_reason_is_exposed(server: Simulated) -> None:
    one = scraper(server, user="nobody")
    seen = text(scrape(one))
    one.close()
    assert "\nase_up 1.0\n" in seen
    assert 'ase_exporter_collector_available{collector="spinlocks",reason="no_role"} 0.0' in seen


def test_only_the_collectors_asked_for_are_read(server: Simulated) -> None:
    one = scraper(server)
    assert set(scrape(one, 60.0, "state", "spinlocks").outcomes) == {"state", "spinlocks"}
    one.close()


def test_a_scrape_in_which_nothing_is_due_pings_the_server(server: Simulated) -> None:
    one = scraper(server)
    assert [scrape(one, 20.0, "licences").summary.up for _ in range(3)] == [True] * 3
    assert [scrape(one, 20.0, "no such collector").summary.up for _ in range(2)] == [True] * 2
    server.faults.refuse = True
    server.drop()
    assert not scrape(one, 20.0, "licences").summary.up
    one.close()


def test_modules_of_one_target_share_its_connection_and_nothing_else(server: Simulated) -> None:
    host, port = server.address
    small = Module(collectors={"waits": False})
    one = TargetScraper(
        Target(name="ONE", host=host, port=port),
        Auth(user="monitor", password=PASSWORD),
        Module(),
        Scrape(connect_timeout=60.0, budget=None),
        CATALOGUE,
        modules={"small": small},
    )
    outcomes = {}
    for module in ("", "small", "default", "small"):
        result = ScrapeResult(time.monotonic() + 60, module=module)
        one.scrape(result)
        assert result.summary.up
        outcomes[module] = set(result.outcomes)
    assert "ase_exporter_connects_total 1.0" in text(result)
    one.close()
    assert outcomes[""] == outcomes["default"] == outcomes["small"] | {"waits"}


def test_nothing_is_sent_after_the_deadline(server: Simulated) -> None:
    one = scraper(server)
    scrape(one)
    before = one.cost.statements
    seen = scrape(one, 0.0)
    one.close()
    assert one.cost.statements == before
    each_time = {name for name, collector in CATALOGUE.collectors.items() if not collector.interval}
    assert {outcome.reason for name, outcome in seen.outcomes.items() if name in each_time} == {"deadline"}
    assert not seen.summary.up
