"""Scrapes of a simulated server: what each fault may cost."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.simulated import CATALOGUE, PASSWORD, Simulated, reading, run, scrape
from tests.faults.scraping import scrape as timely

from ase_exporter.config import Auth
from ase_exporter.metrics.exposition import render_text
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_simulator.demo.scaling import FAST_COLLECTORS


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


def small(server: Simulated, **seams: Any) -> TargetScraper:
    """A scraper of few collectors, for tests to which it does not matter what is read."""
    return server.scraper(module=reading("state", "devices", "spinlocks"), **seams)


def text(result: ScrapeResult) -> str:
    return render_text(result.all_families(stuck=False))


@pytest.mark.parametrize(
    ("collectors", "watched"), [((), True), (FAST_COLLECTORS, True), (("state",), False)]
)
def test_changes_are_watched_if_they_are_asked_for(
    server: Simulated, collectors: Sequence[str], watched: bool
) -> None:
    """A demo at a fast pace asks for few collectors, and yet shows what changes."""
    one = server.scraper(changes_interval=60.0)
    seen = scrape(one, 60.0, *collectors)
    one.close()
    assert (seen.config_snapshot is not None) == watched


def test_a_server_that_hangs_is_answered_in_time_and_recovers(server: Simulated) -> None:
    one = small(server)
    scrape(one)
    server.faults.hang = True
    hung = timely(one, 3.0)
    assert not hung.summary.up
    assert hung.error_kind in ("", "deadline")
    assert "\nase_up 0.0\n" in text(hung)
    server.faults.hang = False
    assert scrape(one).summary.up
    one.close()


def test_a_lost_connection_keeps_what_was_read_and_the_next_scrape_is_whole(server: Simulated) -> None:
    one = small(server)
    whole = scrape(one)
    server.drop()
    lost = scrape(one)
    assert lost.error_kind == "lost"
    assert set(scrape(one).outcomes) == set(whole.outcomes)
    one.close()


def test_an_unreadable_secret_is_reported_until_it_can_be_read(server: Simulated, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    one = small(server, auth=Auth(user="monitor", password_file=secret))
    assert scrape(one).error_kind == "secret_unreadable"
    secret.write_text(PASSWORD, encoding="utf-8")
    assert scrape(one).summary.up
    one.close()


def test_without_mon_role_the_server_is_up_and_the_reason_is_exposed(server: Simulated) -> None:
    one = small(server, auth=Auth(user="nobody", password=PASSWORD))
    seen = text(scrape(one))
    one.close()
    assert "\nase_up 1.0\n" in seen
    assert 'ase_exporter_collector_available{collector="spinlocks",reason="no_role"} 0.0' in seen


def test_a_scrape_in_which_nothing_is_due_pings_the_server(server: Simulated) -> None:
    one = server.scraper()
    assert [scrape(one, 60.0, "licences").summary.up for _ in range(3)] == [True] * 3
    assert [scrape(one, 60.0, "no such collector").summary.up for _ in range(2)] == [True] * 2
    server.faults.refuse = True
    server.drop()
    assert not scrape(one, 60.0, "licences").summary.up
    one.close()


def test_nothing_is_sent_after_the_deadline(server: Simulated) -> None:
    one = server.scraper()
    scrape(one)
    before = one.cost.statements
    seen = scrape(one, 0.0)
    one.close()
    assert one.cost.statements == before
    each_time = {name for name, collector in CATALOGUE.collectors.items() if not collector.interval}
    assert {outcome.reason for name, outcome in seen.outcomes.items() if name in each_time} == {"deadline"}
    assert not seen.summary.up


def test_a_bug_in_the_diagnostics_costs_one_scrape(
    server: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = small(server)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(TargetScraper, "_update_budget", broken)
        failed = scrape(one)
    assert (failed.error_kind, failed.ended) == ("internal", True)
    assert "\nase_up " in text(failed)
    assert scrape(one).error_kind == ""
    one.close()
