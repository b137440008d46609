"""The same window of time through the monitoring tables and through sp_sysmon, in some runs of the case study.

Simulated: both ways go over the wire, through FreeTDS, to one simulated server whose time stands still but for
the sample itself, so that both windows begin and end at the same moment.
"""

import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest
from tests.exporter.simulated import reading
from tests.simulator.tds.running import Running, running

from ase_exporter.catalogue import load_catalogue
from ase_exporter.config import Auth, Scrape, Target
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.scraping.target_settings import TargetSettings
from ase_exporter.sysmon.difference import headline_changes
from ase_exporter.sysmon.metrics import headlines
from ase_exporter.sysmon.runner import take_sample
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.view import difference_view
from ase_exporter.views.terminal import print_view
from ase_simulator.model.scenario import load_scenario
from ase_simulator.model.server import SimulatedServer
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend

# The runs of the case study.
RUNS = range(10)
COLLECTORS = {"state", "engines", "threads", "spinlocks", "data_caches"}
STEP_SECONDS = 600
SAMPLE_SECONDS = 300
CACHES = {"default data cache", "log cache", "orders cache", "system tables cache"}
SPINLOCKS = {
    "Object Manager": "Resource->rdesmgr_spin",
    "Object": "Des Upd Spinlocks",
    "Index": "Ides Spinlocks",
    "Index Hash": "Ides Chain Spinlocks",
    "Partition": "Pdes Spinlocks",
    "Partition Hash": "Pdes Chain Spinlocks",
    "Table & Partition Lock Hashtable": "tablockspins",
    "Page & Row Lock HashTable": "fglockspins",
    "Address Lock Hashtable": "addrlockspins",
}

SCREEN = (80, 24)
# A headline with its figures before and after, as a sentence or in the table.
SHOWN = re.compile(
    r" *(?:- \w+: )?(?P<name>\w.*?)(?: {2,}| )(?P<before>[\d,.]+) \S+ +(?:-> )?(?P<after>[\d,.]+) "
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

Samples = dict[str, dict[tuple[str, ...], float]]


@dataclass(frozen=True)
class Window:
    """One run, seen both ways: what the counters grew, and the report."""

    grown: Samples
    report: Report

    def counted(self, name: str, **labels: str) -> float:
        """What a counter grew, summed over all samples that have these labels."""
        return sum(value for values, value in self.grown[name].items() if set(labels.values()) <= set(values))

    def printed(self, name: str) -> Mapping[tuple[str, ...], float]:
        family = next(family for family in headlines(self.report) if family.name == f"ase_sysmon_{name}")
        return {tuple(labels): value for labels, value in family.samples}

    def contention(self, spinlock: str) -> float:
        grabs = self.counted("ase_spinlock_grabs_total", spinlock=spinlock)
        return self.counted("ase_spinlock_waits_total", spinlock=spinlock) / grabs if grabs else 0.0


def samples(families: list[Family]) -> Samples:
    return {family.name: {tuple(labels): value for labels, value in family.samples} for family in families}


def scrape(scraper: TargetScraper) -> Samples:
    run = ScrapeResult(time.monotonic() + 120)
    scraper.scrape(run)
    assert run.summary.up and not run.summary.error, run.summary.error
    return samples(run.all_families(stuck=False))


def _advance_to(server: SimulatedServer, start: float) -> None:
    server.advance(start - server.world.clock.seconds())


def look_both_ways(server: SimulatedServer, listening: Running) -> Iterator[Window]:
    target = Target(name="memscale", host="127.0.0.1", port=listening.port)
    catalogue, _ = load_catalogue()
    settings = TargetSettings(
        target,
        Auth(user="ase_exporter", password="exporter"),
        {"default": reading(*COLLECTORS)},
        Scrape(connect_timeout=60.0, budget=None),
    )
    scraper = TargetScraper(settings, catalogue)
    for step in RUNS:
        start = step * STEP_SECONDS + (STEP_SECONDS - SAMPLE_SECONDS) / 2
        listening.ask(partial(_advance_to, server, start))
        before = scrape(scraper)
        report = take_sample(target, Auth(user="sa", password=""), SAMPLE_SECONDS)
        after = scrape(scraper)
        grown = {
            name: {labels: value - before[name].get(labels, 0.0) for labels, value in values.items()}
            for name, values in after.items()
            if name in before
        }
        yield Window(grown, report)
    scraper.close()


@pytest.fixture(scope="module")
def windows() -> list[Window]:
    server = load_scenario("memscale", speed=0)[0]
    assert isinstance(server, SimulatedServer)

    async def pass_time(seconds: float) -> None:
        server.advance(seconds)

    server.sleep = pass_time  # type: ignore[method-assign]
    # The driver must not run on the main thread.
    with running(lambda: Listener(SqlBackend(server))) as listening, ThreadPoolExecutor(1) as pool:
        return list(pool.submit(lambda: list(look_both_ways(server, listening))).result())


@pytest.mark.parametrize("run", RUNS)
def test_both_ways_agree(windows: list[Window], run: int) -> None:
    """Contention within half a point, CPU busy, and throughput; sampled whole and without clearing."""
    window = windows[run]
    header = window.report.header
    assert window.report.complete and not window.report.warnings
    assert (header.mode, header.interval) == ("No Clear", timedelta(seconds=SAMPLE_SECONDS))
    caches = window.printed("cache_spinlock_contention_ratio")
    spinlocks = window.printed("spinlock_contention_ratio")
    assert {name for (name,) in caches} == CACHES
    assert {name for (name,) in spinlocks} == set(SPINLOCKS)
    for (name,), printed in [*caches.items(), *spinlocks.items()]:
        assert window.contention(SPINLOCKS.get(name, name)) == pytest.approx(printed, abs=0.005), name
    ratios = window.printed("server_busy_ratio")
    busy = sum(window.counted("ase_engine_cpu_seconds_total", mode=mode) for mode in ("user", "system"))
    everything = window.counted("ase_engine_cpu_seconds_total")
    assert busy / everything == pytest.approx(ratios["user",] + ratios["system",], abs=0.005)
    units = window.counted("ase_thread_cpu_seconds_total") / SAMPLE_SECONDS
    throughput = window.counted("ase_transactions_total") / SAMPLE_SECONDS / units
    assert throughput == pytest.approx(window.printed("throughput_per_cpu_unit")[()], rel=0.01)
    assert units == pytest.approx(window.printed("cpu_units")[()], rel=0.01)


def test_the_runs_differ_so_that_agreement_means_something(windows: list[Window]) -> None:
    contention = [
        window.printed("cache_spinlock_contention_ratio")["system tables cache",] for window in windows
    ]
    assert max(contention) - min(contention) > 0.3


def test_the_headlines_of_a_diff_tell_the_story_of_the_printed_table(windows: list[Window]) -> None:
    before, after = windows[1].report, windows[-1].report
    found = {line.name: (line.before, line.after) for line in headline_changes(before, after)}
    for name in (
        "CPU busy",
        "Transactions per CPU unit",
        "Spinlock contention, default data cache",
        "Spinlock contention, system tables cache",
        "Spinlock contention, log cache",
    ):
        assert None not in found[name], name
    for cache in ("default data cache", "system tables cache", "log cache"):
        for window, value in zip(
            (windows[1], windows[-1]), found[f"Spinlock contention, {cache}"], strict=True
        ):
            assert value == pytest.approx(window.contention(cache) * 100, abs=0.5)
    assert list(found)[:2] == ["Committed transactions", "CPU busy"]
    assert before.complete and after.complete


def test_the_first_screen_of_a_diff_tells_contention_cpu_and_throughput(
    windows: list[Window], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The baseline, and the run with all features of the first series."""
    monkeypatch.setenv("COLUMNS", str(SCREEN[0]))
    sides = windows[0].report, windows[1].report
    print_view(difference_view(*sides, 20))
    lines = capsys.readouterr().out.splitlines()[: SCREEN[1]]
    assert all(len(line) <= SCREEN[0] for line in lines)
    shown = {}
    for line in lines:
        match = SHOWN.match(line)
        if match:
            shown[match["name"]] = tuple(float(match[part].replace(",", "")) for part in ("before", "after"))
    busy, throughput = shown["CPU busy"], shown["Transactions per CPU unit"]
    contention = shown["Spinlock contention, system tables cache"]
    assert contention[0] > 2 * contention[1] and busy[0] > busy[1] and throughput[1] > 2 * throughput[0]
