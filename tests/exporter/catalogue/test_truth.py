"""From a simulated server to the exported metrics: totals grow by what really happened."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.exporter.simulated import run

from ase_exporter.catalogue import PlannedCollector, load_catalogue, plan, read_facts
from ase_exporter.metrics.counters import CounterStore
from ase_simulator.model.operation import CACHE_COLUMNS

CATALOGUE, _ = load_catalogue()
CACHE = "default data cache"
SELECTION = dict.fromkeys(CATALOGUE.collectors, False) | {"state": True, "data_caches": True}


def exported(
    query: Callable[[str], Any], planned: list[PlannedCollector], counters: CounterStore, now: float
) -> float:
    """ase_cache_searches_total of the default data cache, by one more scrape."""
    for collector in planned:
        families = collector.families(query(collector.statement), counters, now)
    (family,) = [each for each in families if each.name == "ase_cache_searches_total"]
    return dict(family.samples)[(CACHE,)]


@pytest.mark.parametrize("negative", [False, True], ids=["wraps to 0", "wraps to negative"])
def test_searches_grow_by_the_truth_over_wraps_clears_and_restarts(negative: bool) -> None:
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server:
        model, world = server.model, server.model.world
        world.negative_wrap = negative
        # The int counters reach their edge about a minute from now.
        world.restart(60.0)
        counters, now = CounterStore(), 0.0

        def searches() -> int:
            return int(world.counters.caches[CACHE].tolist()[CACHE_COLUMNS.index("searches")])

        with server.login("monitor") as query:
            planned = plan(CATALOGUE, read_facts(query), SELECTION)
            before, was = exported(query, planned, counters, now), searches()
            for step in range(12):
                if step == 5:
                    model.clear_monitors()
                model.advance(15.0)
                now += 15.0
                total, truth = exported(query, planned, counters, now), searches()
                assert total - before == truth - was
                before, was = total, truth
        assert counters.events["wrap"] > 0
        model.restart()
        model.advance(20.0)
        with server.login("monitor") as query:
            assert exported(query, planned, counters, now + 60.0) - before == searches()
        assert counters.events["restart"] == 1
