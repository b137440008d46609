"""Faults of a (simulated) server, and what a scrape still guarantees."""

import time

import pytest
from tests.exporter.ase.test_connection import connect, failure
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import run, scraper_of
from tests.faults.scraping import failed, samples, scrape
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import ScriptedBackend, ScriptedSession, numbers

from ase_exporter.ase.login_ledger import LOGIN_ATTEMPTS
from ase_simulator.contracts import LoginRequest
from ase_simulator.results import Message


def test_a_server_without_a_free_connection_is_named_and_asked_again(
    backend: ScriptedBackend, scripted: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Message(1601, 17, 2, "There are not enough 'user connections' available to start a new process.")
    tried: list[LoginRequest] = []

    def refuse(request: LoginRequest) -> ScriptedSession | Message:
        tried.append(request)
        return full

    monkeypatch.setattr(backend, "login", refuse)
    one = scraper_of(("127.0.0.1", scripted.port))
    kinds = [scrape(one).error_kind for _ in range(LOGIN_ATTEMPTS + 1)]
    assert kinds == ["no_connections"] * (LOGIN_ATTEMPTS + 1)
    # No password was refused, so the login does not back off.
    assert len(tried) == LOGIN_ATTEMPTS + 1


def test_a_server_that_shuts_down_is_down_until_it_is_started_again() -> None:
    with run("16.0 SP04") as server:
        one = scraper_of(server.address)
        assert scrape(one).summary.up
        server.model.shutdown()
        down = [scrape(one), scrape(one)]
        assert [seen.summary.up for seen in down] == [False, False]
        assert {seen.error_kind for seen in down} <= {"shutting_down", "lost", "unreachable"}
        server.model.restart()
        assert scrape(one).summary.up
        one.close()


def test_rows_that_end_in_an_error_are_not_taken_for_all(backend: ScriptedBackend, scripted: Running) -> None:
    switched_off = Message(12052, 17, 1, "Collection of monitoring data requires that … be enabled.")
    backend.answers["partial"] = lambda: [numbers(3), switched_off]
    connection = connect(scripted, password="password")
    error = failure(lambda: connection.query("partial", time.monotonic() + 60), 60)
    assert (error.kind, error.number, error.usable) == ("query_failed", 12052, True)
    assert len(connection.query("numbers 3", time.monotonic() + 60)) == 3
    connection.close()


@pytest.mark.parametrize("jump", [-86400.0, 86400.0], ids=["back", "ahead"])
@pytest.mark.parametrize("whose", ["exporter", "server"])
def test_a_jump_of_a_clock_changes_no_counter_no_deadline_and_no_age(jump: float, whose: str) -> None:
    shifted = ShiftedClock()
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        one = scraper_of(server.address, clock=shifted, changes_interval=0.0)
        scrape(one)
        before = samples(scrape(one))
        server.advance(15.0)
        if whose == "exporter":
            shifted.jump = jump
        else:
            clock, at = server.model._world.clock, server.model._world.clock.seconds()
            clock.utc = lambda second, utc=clock.utc: utc(second + (jump if second >= at else 0.0))
        seen = scrape(one)
        after = samples(seen)
        one.close()
    assert not failed(seen)
    assert all(age >= 0 for name, ages in after.items() if "transaction_sec" in name for age in ages.values())
    for name in (each for each in before if each.endswith("_total")):
        assert after[name].keys() >= before[name].keys()
        assert all(after[name][labels] >= value for labels, value in before[name].items()), name
    searches = "ase_cache_searches_total"
    assert after[searches]["default data cache",] > before[searches]["default data cache",]
