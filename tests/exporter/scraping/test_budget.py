"""The cost of reading a target, and its budget: on a clock moved by hand, and with a slow simulated server."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exporter.clocks import ShiftedClock, StandingClock
from tests.exporter.samples import exported
from tests.exporter.simulated import Simulated, reading, run, scrape

from ase_exporter.ase.cost import Cost
from ase_exporter.config import Module, Scrape
from ase_exporter.metrics.exposition import render_text
from ase_exporter.scraping.budget import MAX_INTERVAL, Budget
from ase_exporter.scraping.result import ScrapeResult


class Scraped:
    """Scrapes in turn, by a clock that is moved by hand, of collectors that take so many seconds each."""

    def __init__(self, share: float | None, seconds: dict[str, float], cpu: float | None = None) -> None:
        """cpu: the share of the time in statements that is CPU time; None: it cannot be read."""
        self.budget = Budget(share)
        self.seconds = seconds
        self.cpu = cpu
        self.now = 1000.0
        self.spent = 0.0
        self.kept: dict[str, float] = {}
        self.reads: Counter[str] = Counter()
        self.said: list[str] = []

    def run(self, scrapes: int, every: float = 10.0) -> None:
        for _ in range(scrapes):
            for name, seconds in self.seconds.items():
                interval = self.budget.request(name, self.now, 0.0, vital=name == "state")
                if self.now - self.kept.get(name, -1e9) < interval:
                    continue
                self.kept[name] = self.now
                self.reads[name] += 1
                self.spent += seconds
                self.budget.record(name, seconds)
            cpu = None if self.cpu is None else self.spent * self.cpu
            self.said.append(self.budget.update(self.now + 0.1, self.spent, cpu))
            self.now += every

    def stretch(self, name: str) -> float:
        return self.budget.stretch(name, self.now - 9.9)


def test_expensive_collectors_end_up_with_equal_cost() -> None:
    scraped = Scraped(0.02, {"state": 0.0, "a": 1.0, "b": 0.5, "c": 0.02})
    scraped.run(500)
    assert scraped.reads["a"] * 1.0 == pytest.approx(scraped.reads["b"] * 0.5, rel=0.15)
    assert scraped.reads["c"] == 500


def test_network_time_does_not_count_if_cpu_time_is_known() -> None:
    scraped = Scraped(0.02, {"state": 0.1, "objects": 1.0}, cpu=0.05)
    scraped.run(100)
    assert scraped.reads["objects"] >= 97
    assert scraped.stretch("objects") == 1.0
    scraped = Scraped(0.02, {"state": 0.1, "objects": 1.0}, cpu=0.9)
    scraped.run(100)
    # 2 % of 1000 s are 20 s of CPU time, of which state takes 9.
    assert scraped.reads["objects"] * 0.9 == pytest.approx(11, abs=2)


def test_vital_collectors_are_never_stretched_and_no_interval_exceeds_the_maximum() -> None:
    scraped = Scraped(0.001, {"state": 1.0, "objects": 9.0})
    scraped.run(91)
    assert scraped.reads["state"] == 91
    assert scraped.reads["objects"] >= 900 / MAX_INTERVAL
    assert scraped.stretch("objects") == pytest.approx(MAX_INTERVAL / 10, rel=0.01)


def test_the_log_says_once_that_the_budget_binds_and_once_that_it_no_longer_does() -> None:
    scraped = Scraped(0.02, {"state": 0.01, "objects": 2.0})
    scraped.run(100)
    scraped.seconds["objects"] = 0.01
    scraped.run(400)
    began, ended = [line for line in scraped.said if line]
    assert "the budget is 2.00%" in began
    assert "kept again" in ended
    assert scraped.stretch("objects") == 1.0


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.001, 0.2), min_size=1),
    st.floats(0.01, 0.2),
    st.integers(5, 60),
)
def test_the_cost_keeps_the_budget_whatever_the_collectors_take(
    seconds: dict[str, float], share: float, every: int
) -> None:
    scraped = Scraped(share, seconds)
    scraped.run(5, every)
    before, began = scraped.spent, scraped.now
    scraped.run(100, every)
    demand = sum(seconds.values()) / every
    spent = (scraped.spent - before) / (scraped.now - began)
    # A reading waits for a scrape, and at the edges each collector may be read once more.
    assert spent <= min(share, demand) * 1.01 + sum(seconds.values()) / (scraped.now - began)
    if demand <= share:
        assert spent == pytest.approx(demand)


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with run("16.0 SP04") as server:
        yield server


def scrapes(server: Simulated, module: Module, budget: float | None) -> Callable[[], ScrapeResult]:
    one = server.scraper(module=module, budget=budget)

    def scrape_it() -> ScrapeResult:
        result = scrape(one, 90.0)
        assert result.summary.up
        return result

    return scrape_it


def test_each_scrape_adds_its_cost(server: Simulated) -> None:
    scrape_it = scrapes(server, Module(), None)
    names = [family.name for family in Cost().families()]
    first, second = scrape_it(), scrape_it()
    assert set(names) == {
        f"ase_exporter_{name}_total"
        for name in ("scrapes", "connects", "statements", "statement_seconds", "rows", "received_bytes")
    }
    grown = {name: exported(second, name)[()] - exported(first, name)[()] for name in names}
    assert grown.pop("ase_exporter_scrapes_total") == 1
    assert grown.pop("ase_exporter_connects_total") == 0
    assert all(growth > 0 for growth in grown.values())
    # A row is more than a byte, and every number of a sample came with one.
    assert grown["ase_exporter_received_bytes_total"] > grown["ase_exporter_rows_total"]
    # What the server itself says of our session.
    for name in ("physical_reads_total", "memory_bytes"):
        assert () in exported(second, f"ase_exporter_session_{name}")
    for name in ("cpu_seconds_total", "logical_reads_total"):
        name = f"ase_exporter_session_{name}"
        assert exported(second, name)[()] > exported(first, name)[()]


class Slow(dict[str, float]):
    """In place of the simulator's slow tables: only the clock says that reading one took 3 s."""

    def __init__(self, table: str, clock: ShiftedClock) -> None:
        self._table, self._clock = table, clock

    def get(self, table: str, default: Any = None) -> Any:
        self._clock.ahead += 3.0 * (table == self._table)
        return default


def test_by_default_the_collector_that_is_slow_in_a_batch_is_stretched_and_no_other(
    server: Simulated,
) -> None:
    shifted, results = StandingClock(), list[ScrapeResult]()
    # Without our session's CPU time the time in statements counts.
    module = Module(collectors={"own_session": False})
    one = server.scraper(module=module, budget=Scrape().budget, clock=shifted)
    server.model.faults.slow_tables = Slow("monDeviceIO", shifted)
    try:
        for _ in range(5):
            results.append(ScrapeResult(shifted.monotonic() + 90, clock=shifted.clock))
            one.scrape(results[-1])
            shifted.ahead += 15.0
    finally:
        server.model.faults.slow_tables = {}
        one.close()
    # The first scrape of a batch exceeds the budget; the collectors are measured alone then.
    _, _, slow, *_, later = results
    assert slow.outcomes["devices"].seconds == pytest.approx(3.0)
    assert exported(slow, "ase_exporter_budget_ratio") == {(): 0.01}
    assert exported(slow, "ase_exporter_budget_demand_ratio")[()] > 0.01
    for each in (slow, later):
        assert exported(each, "ase_exporter_collector_stretch").keys() == {("devices",)}
        assert each.summary.up and each.summary.stretched == 1
    assert later.outcomes["devices"].seconds == 0
    assert exported(later, "ase_exporter_collector_success")["devices",] == 1
    # Gauges are repeated, counters leave a gap.
    assert any(family.name.endswith("_total") for family in slow.collected["devices"])
    assert not [family for family in later.collected["devices"] if family.name.endswith("_total")]
    assert "ase_start_timestamp_seconds" in render_text(later.all_families(stuck=False))


def test_a_collector_that_waits_without_using_cpu_is_not_stretched(server: Simulated) -> None:
    # Our session's CPU time is known, and it is little.
    scrape_it = scrapes(server, reading("state", "own_session", "devices"), 0.5)
    scrape_it()
    scrape_it()
    server.faults.only, server.faults.seconds_per_row = "monDeviceIO", 0.02
    try:
        runs = [scrape_it() for _ in range(4)]
    finally:
        server.faults.only, server.faults.seconds_per_row = "", 0.0
    assert all(each.outcomes["devices"].seconds > 0.05 for each in runs)
    assert exported(runs[-1], "ase_exporter_statement_seconds_total")[()] > 0.2
    assert not any(each.summary.stretched for each in runs)
