"""The schedule: never clearing, never two at once, and a failure costs a metric alone."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.exporter.sysmon import samples
from tests.planted import SYSMON

from ase_exporter.ase.connection import DatabaseError, Endpoint, Row
from ase_exporter.ase.login import Permission
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.ase.timing import TIMING
from ase_exporter.catalogue import Catalogue
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.config.sysmon import SysmonSettings
from ase_exporter.metrics.exposition import render_text
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_exporter.sysmon import runner
from ase_exporter.sysmon.runner import SampleError, SysmonRunner, take_sample

REPORT = samples.report(samples.TRANSACTIONS).splitlines()
AUTH = Auth(user="sysmon", password=SYSMON)


@dataclass
class Scripted:
    """A server of which each login, query and print is scripted."""

    prints: Callable[[], list[str]] = lambda: REPORT
    others: int = 0
    login_error: DatabaseError | None = None
    logins: list[tuple[str, str, str]] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    closed: int = 0

    def __call__(
        self,
        endpoint: Endpoint,
        user: str,
        password: str,
        *,
        deadline: float,
        program: str,
        allow: Permission,
        note: object = None,
    ) -> "Scripted":
        allow(())
        self.logins.append((user, password, program))
        if self.login_error:
            raise self.login_error
        return self

    def query(self, sql: str, deadline: float) -> list[Row]:
        self.statements.append(sql)
        return [(self.others,)]

    def query_messages(self, sql: str, deadline: float) -> list[str]:
        self.statements.append(sql)
        return self.prints()

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Target:
    return Target(name="prod", host=f"{request.node.name}.invalid", port=5000)


def scheduled(
    target: Target, server: Scripted, clock: Clock = SYSTEM_CLOCK, **settings: object
) -> SysmonRunner:
    return SysmonRunner(target, AUTH, SysmonSettings(auth="sysmon", **settings), server, clock=clock)  # type: ignore[arg-type]


def exported(schedule: SysmonRunner) -> str:
    return render_text(schedule.families())


def test_a_sample_is_taken_with_a_login_and_a_connection_of_its_own(target: Target) -> None:
    server = Scripted()
    report = take_sample(target, AUTH, 60, open_connection=server)
    assert report.header.server == "PROD_DS"
    assert server.logins == [("sysmon", SYSMON, "ase-exporter-sysmon")]
    assert server.statements[-1] == "sp_sysmon '00:01:00', 'noclear'"
    assert server.closed == 1


def test_a_good_run_gives_headlines_where_there_were_none(target: Target) -> None:
    schedule = scheduled(target, Scripted())
    assert [family.name for family in schedule.families()] == ["ase_sysmon_runs_total"]
    assert schedule.run_once() == "ok"
    text = exported(schedule)
    assert 'ase_sysmon_runs_total{outcome="ok"} 1.0' in text
    assert "ase_sysmon_last_run_success 1.0" in text
    assert "ase_sysmon_committed_transactions_per_second 1200.0" in text


@pytest.mark.parametrize(
    ("server", "outcome"),
    [
        (Scripted(login_error=DatabaseError("refused", "nobody listens")), "refused"),
        (Scripted(prints=lambda: ["You must have any of the following role(s)..."]), "refused"),
        (Scripted(prints=list), "refused"),
        (Scripted(others=1), "busy"),
        (
            Scripted(prints=lambda: [line.replace("No Clear", "Reset Counters") for line in REPORT]),
            "cleared_counters",
        ),
        (Scripted(prints=lambda: [line for line in REPORT if "Sample Mode" not in line]), "mode_unknown"),
    ],
    ids=["no-server", "no-role", "silence", "another-exporter", "cleared", "old-version"],
)
def test_a_failure_costs_a_metric(target: Target, server: Scripted, outcome: str) -> None:
    schedule = scheduled(target, server)
    assert schedule.run_once() == outcome
    text = exported(schedule)
    assert f'ase_sysmon_runs_total{{outcome="{outcome}"}} 1.0' in text
    assert "ase_sysmon_last_run_success 0.0" in text
    assert "ase_sysmon_committed" not in text
    assert SYSMON not in text


def test_an_unexpected_error_costs_a_sample_and_not_the_schedule(target: Target) -> None:
    def broken() -> list[str]:
        raise RuntimeError("a defect")

    server = Scripted(prints=broken)
    schedule = scheduled(target, server)
    assert schedule.run_once() == "internal"
    server.prints = lambda: REPORT
    assert schedule.run_once() == "ok"


def test_a_failure_keeps_the_sample_before_it_until_that_is_stale(target: Target) -> None:
    server = Scripted()
    now = 1_000_000.0
    schedule = scheduled(target, server, Clock(time=lambda: now), interval=600.0)
    schedule.run_once()
    server.prints = list
    schedule.run_once()
    assert "ase_sysmon_sample_age_seconds 0.0" in exported(schedule)
    now += 1900.0
    assert "ase_sysmon_sample_age_seconds" not in exported(schedule)


def test_a_server_that_clears_nevertheless_is_not_asked_again(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "FIRST_WITHIN", 0.0)
    server = Scripted(prints=lambda: [line.replace("No Clear", "Reset Counters") for line in REPORT])
    before = set(threading.enumerate())
    schedule = scheduled(target, server)
    schedule.start()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()
    assert len(server.logins) == 1


def test_two_samples_of_one_server_are_never_taken_at_once(target: Target) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow() -> list[str]:
        entered.set()
        assert leave.wait(60)
        return REPORT

    schedule = scheduled(target, Scripted(prints=slow))
    first = threading.Thread(target=schedule.run_once)
    first.start()
    assert entered.wait(60)
    with pytest.raises(SampleError, match="under way") as refused:
        take_sample(target, AUTH, 60, open_connection=Scripted())
    assert refused.value.reason == "busy"
    leave.set()
    first.join(60)
    assert take_sample(target, AUTH, 60, open_connection=Scripted()).ended


def test_a_refused_password_is_tried_twice_and_not_again_not_even_by_another_process(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TIMING, "login_pause", 0.0)
    server = Scripted(login_error=DatabaseError("login_failed", "Login failed.", 4002))
    ledger = LoginLedger()
    schedule = SysmonRunner(target, AUTH, SysmonSettings(auth="sysmon"), server, ledger)
    assert [schedule.run_once() for _ in range(4)] == ["login_failed"] * 2 + ["login_suspended"] * 2
    another = SysmonRunner(target, AUTH, SysmonSettings(auth="sysmon"), server, ledger)
    assert another.run_once() == "login_suspended"
    assert len(server.logins) == 2


@pytest.mark.parametrize(("collectors", "shown"), [(None, True), (frozenset({"engines"}), False)])
def test_a_scrape_shows_the_last_sample_even_of_a_server_that_is_down(
    target: Target, collectors: frozenset[str] | None, shown: bool
) -> None:
    schedule = scheduled(target, Scripted())
    schedule.run_once()
    settings = TargetSettings(target, AUTH, Module(), Scrape())
    scraper = TargetScraper(settings, Catalogue(), sysmon=schedule)
    result = ScrapeResult(time.monotonic() + 30, ScrapeRequest(collectors))
    scraper.scrape(result)
    assert not result.summary.up
    assert (
        "ase_sysmon_committed_transactions_per_second" in {family.name for family in result.diagnostics}
    ) is shown
