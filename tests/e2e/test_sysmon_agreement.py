"""The same window of time through the monitoring tables and through sp_sysmon, in some runs of the case study.

Simulated: both ways go over the wire, through FreeTDS, to one simulated server whose time stands still but for
the sample itself, so that both windows begin and end at the same moment.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
from tests.exporter.simulated import PASSWORD, Simulated, reading, run, scrape
from tests.faults.scraping import Samples, samples

from ase_exporter.config import Auth, Target
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_exporter.sysmon.metrics import headlines
from ase_exporter.sysmon.runner import take_sample
from ase_exporter.sysmon.structure import Report

# Runs of the case study: of every build the worst one and the best one, which differ most.
RUNS = [pytest.param((0, 8), id="two runs"), pytest.param(tuple(range(10)), id="all", marks=pytest.mark.slow)]
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

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Window:
    """One run, seen both ways: what the counters grew, and the report."""

    grown: dict[str, Samples]
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


def read(scraper: TargetScraper) -> dict[str, Samples]:
    result = scrape(scraper, 120.0)
    assert result.summary.up and not result.summary.error, result.summary.error
    return samples(result)


def look_both_ways(server: Simulated, runs: Sequence[int]) -> Iterator[Window]:
    host, port = server.address
    target = Target(name="memscale", host=host, port=port)
    scraper = server.scraper(module=reading(*COLLECTORS))
    for step in runs:
        start = step * STEP_SECONDS + (STEP_SECONDS - SAMPLE_SECONDS) / 2
        server.model.advance(start - server.model.world.clock.seconds())
        before = read(scraper)
        report = take_sample(target, Auth(user="sa", password=PASSWORD), SAMPLE_SECONDS)
        grown = {
            name: {labels: value - before[name].get(labels, 0.0) for labels, value in values.items()}
            for name, values in read(scraper).items()
            if name in before
        }
        yield Window(grown, report)
    scraper.close()


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.slow
def test_both_ways_agree_about_runs_that_differ(runs: Sequence[int]) -> None:
    with run("16.0 SP04", "memscale", speed=0.0) as server:

        async def pass_time(seconds: float) -> None:
            server.model.advance(seconds)

        server.model.sleep = pass_time
        windows = list(look_both_ways(server, runs))
    for window in windows:
        check(window)
    contention = [
        window.printed("cache_spinlock_contention_ratio")["system tables cache",] for window in windows
    ]
    assert max(contention) - min(contention) > 0.3


def check(window: Window) -> None:
    """Contention within half a point, CPU busy, and throughput; sampled whole and without clearing."""
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
