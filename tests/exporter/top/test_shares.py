"""No share is larger than its whole, although the tables of a scrape are read seconds apart."""

import random
import threading
from collections.abc import Callable, Iterator
from math import floor
from types import SimpleNamespace
from typing import Any

import pytest

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.families import Sample as Row
from ase_exporter.readings.samples import Sample, Tracker
from ase_exporter.top.feed import LiveFeed, first_frame
from ase_exporter.top.frames import Frame, frame

ROUNDING = 1e-9


class Server:
    """Engines that are busy by chance in each second, and spin for a part of it. cost: true seconds of a spin."""

    def __init__(self, dice: random.Random, *, steady: bool) -> None:
        self.engines = dice.choice([1, 4, 48])
        self.cost = dice.choice([2e-9, 1e-8, 3e-8])
        loads = [(dice.random(), dice.random()) for _ in range(200)]
        self.loads = [loads[0]] * 200 if steady else loads

    def passed(self, at: float) -> tuple[float, float]:
        """Seconds that each engine was busy until then, and seconds of those that it spun."""
        whole = floor(at)
        busy = sum(load for load, _ in self.loads[:whole]) + (at - whole) * self.loads[whole][0]
        spun = sum(load * part for load, part in self.loads[:whole])
        return busy, spun + (at - whole) * self.loads[whole][0] * self.loads[whole][1]

    def tables(self, at: dict[str, float]) -> dict[str, list[Family]]:
        """Each table as it was at its own time. The server counts the time of engines in whole seconds."""
        busy, _ = self.passed(at["engines"])
        seconds = {"user": busy, "idle": at["engines"] - busy}
        cpu: list[Row] = [
            ((str(engine), mode), float(floor(count)))
            for engine in range(self.engines)
            for mode, count in seconds.items()
        ]
        online: list[Row] = [(("online",), float(self.engines))]
        _, spun = self.passed(at["spinlocks"])
        spins = spun * self.engines / self.cost
        locks = {"grabs": spins / 100, "spins": spins, "waits": spins / 150}
        done = self.passed(at["state"])[0]
        found = {
            "engines": [
                Family("ase_engine_cpu_seconds_total", "counter", "h", ("engine", "mode"), cpu),
                Family("ase_engines", "gauge", "h", ("state",), online),
            ],
            "spinlocks": [
                Family(
                    f"ase_spinlock_{what}_total",
                    "counter",
                    "h",
                    ("class", "spinlock"),
                    [(("data_cache", name), count * part) for name, part in (("a", 0.7), ("b", 0.3))],
                )
                for what, count in locks.items()
            ],
            "state": [Family("ase_transactions_total", "counter", "h", (), [((), done * 1000)])],
        }
        for collector, families in found.items():
            for family in families:
                family.read_at = at[collector]
        return found


def frames(server: Server, dice: random.Random) -> list[Frame]:
    """Two minutes of scrapes in which each table comes up to four seconds late."""
    tracker, made, at = Tracker(), [], 1.0
    while at < 120:
        times = {name: at + dice.uniform(0, 4) for name in ("engines", "spinlocks", "state")}
        tracker.note(at, server.tables(times))
        made.append(frame(Sample("ONE", at, at, 5.0, series=tracker.series())))
        at += dice.uniform(4.5, 9)
    return made


@pytest.mark.parametrize("seed", range(8))
def test_no_share_exceeds_its_whole(seed: int) -> None:
    dice = random.Random(seed)
    server = Server(dice, steady=False)
    known = 0
    for each in frames(server, dice):
        figures, account = each.figures, each.diagnosis.account
        if figures.cpu_busy is None:
            continue
        known += 1
        assert 0 <= figures.cpu_busy <= 1
        # The table of spinlocks, the line of the CPU and the verdict say the same.
        assert figures.spinning == each.diagnosis.measures["spinning_share"].value
        assert sum(lock.cpu or 0 for lock in figures.spinlocks) == pytest.approx(figures.spinning or 0)
        assert sum(lock.engines or 0 for lock in figures.spinlocks) <= server.engines + ROUNDING
        assert figures.spinning is None or figures.spinning <= figures.cpu_busy + ROUNDING
        assert all(0 <= (engine.busy or 0) <= 1 for engine in figures.engines)
        assert all(0 <= lock.contention <= 1 for lock in figures.spinlocks)
        assert all(0 <= (account.share(part) or 0) <= 1 for part in account.parts)
        for name, definition in catalogue().measures.items():
            value = each.diagnosis.measures[name].value
            if definition.unit == "ratio" and value is not None:
                assert value <= 1 + ROUNDING, name
        spinning = each.diagnosis.measures["spinning_share_high"].value
        assert spinning is None or spinning <= figures.cpu_busy + ROUNDING
    assert known > 5


@pytest.mark.parametrize("seed", range(4))
def test_rates_are_true_whenever_a_table_was_read(seed: int) -> None:
    dice = random.Random(seed)
    server = Server(dice, steady=True)
    busy, part = server.loads[0]
    known = 0
    for each in frames(server, dice):
        truth = {"spins": busy * part * server.engines / server.cost, "transactions": busy * 1000}
        for name, true in truth.items():
            value = each.diagnosis.measures[name].value
            assert value is None or value == pytest.approx(true)
            known += value is not None
    assert known > 5


def sampler(take: Callable[[], Sample], closed: threading.Event, interval: float = 0.0) -> Any:
    """A sampler of no server, for `LiveFeed`. closed: set when it is closed."""
    target = SimpleNamespace(name="ONE")
    return SimpleNamespace(target=target, interval=interval, timeout=60.0, take=take, close=closed.set)


def test_a_first_answer_waits_for_rates_although_a_gauge_is_wrong_already() -> None:
    """A log that is nearly full must not hide what spins."""
    server = Server(random.Random(0), steady=True)
    server.loads = [(1.0, 0.7)] * 200
    size, free = (
        Family(f"ase_database_{what}_bytes", "gauge", "h", ("database", "use"), [(("shop", "log"), value)])
        for what, value in (("size", 100.0), ("free", 10.0))
    )
    tracker = Tracker()

    def samples() -> Iterator[Sample]:
        for at in (1.0, 11.0, 21.0):
            tables = server.tables(dict.fromkeys(("engines", "spinlocks", "state"), at))
            tracker.note(at, {**tables, "database_space": [size, free]})
            yield Sample("ONE", at, at, 10.0, series=tracker.series())

    first = first_frame(LiveFeed(sampler(samples().__next__, threading.Event())))
    found = [each.name for each in first.diagnosis.findings]
    assert found[0] == "spinning" and found[-1] == "log_filling"
