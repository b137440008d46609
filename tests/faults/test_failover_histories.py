"""Random histories of a site: no rate above the true one, whoever answers at the address and whatever dates it gives.

Two simulated servers stand behind one address. Failovers, restarts, starts that move, clocks that are set, cluster
nodes that join and leave, and exporters that start again from saved totals happen at random. The truth is what the
servers counted while they were the ones to answer.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.compare.conftest import prometheus_with
from tests.exporter.simulated import PASSWORD, Simulated, run

from ase_exporter.ase.connection import Connection, Endpoint
from ase_exporter.ase.watchdog import Watchdog
from ase_exporter.catalogue import load_catalogue
from ase_exporter.clock import Clock
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper

CATALOGUE, _ = load_catalogue()
COLLECTORS = frozenset({"state", "data_caches", "spinlocks"})
STEP, STEPS = 15.0, 14
BEGIN = datetime(2026, 3, 2, 8)
START = 1_767_225_600.0
TOLERANCE = 1.05
EVENTS = ("failover", "restart", "start", "clock", "exporter", "clear")
MOVES = (3, 60, 3600, -3, -60, -3600)
CLUSTER = "15.7 SP138 CE"

Key = tuple[str, str, str]
Values = dict[Key, float]


@dataclass
class Side:
    """One of the servers. clock_set: seconds by which its clock was set."""

    server: Simulated
    clock_set: float = 0.0

    def counters(self) -> dict[tuple[str, str], float]:
        """The counters inside, of each of its instances."""
        model = self.server.model
        (state,) = model.table("monState")
        totals: Counter[tuple[str, str]] = Counter()
        for metric, column in (("transactions", "Transactions"), ("logical_reads", "LogicalReads")):
            if column in state:
                totals[f"ase_{metric}_total", ""] = state[column]
        for row in model.table("monDataCache"):
            totals["ase_cache_searches_total", str(row["CacheName"])] += row["CacheSearches"]
        for row in model.table("monSpinlockActivity"):
            if row["Grabs"]:
                totals["ase_spinlock_grabs_total", str(row["SpinlockName"])] += row["Grabs"]
        return dict(totals)

    def shows_start(self, moved: float) -> None:
        """From now on its start appears to be another one."""
        world = self.server.model.world
        shown = world.date(world.started) + timedelta(seconds=moved)
        self.server.faults.column_values["monState.StartDate"] = shown

    def set_clock(self, seconds: float) -> None:
        """Set its clock; what it says of its start stays."""
        world = self.server.model.world
        faults = self.server.faults.column_values
        faults.setdefault("monState.StartDate", world.date(world.started))
        faults.setdefault("monState.CountersCleared", world.date(world.cleared))
        world.clock.start += timedelta(seconds=seconds)

    def restart(self) -> None:
        self.server.faults.column_values.clear()
        self.server.model.restart()


@dataclass
class Site:
    """An address with two servers behind it, and the exporter that reads it."""

    sides: list[Side]
    cluster: bool
    passed: float = 0.0
    active: int = 0
    truth: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    # What each side has counted, also while the other one was active.
    worked: defaultdict[tuple[int, str, str], float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        self.clock = Clock(lambda: time.monotonic() + self.passed, lambda: START + self.passed)
        self.watchdog = Watchdog(self.clock)
        self.scraper = self._scraper()
        self.before = [side.counters() for side in self.sides]
        self.saved: dict[str, bytes] = {}

    @property
    def side(self) -> Side:
        return self.sides[self.active]

    def _open(self, endpoint: Endpoint, user: str, password: str, **more: Any) -> Connection:
        host, port = self.side.server.address
        opened = partial(Connection.open, watchdog=self.watchdog)
        return opened(Endpoint(host, port), user, password, **more)

    def _scraper(self) -> TargetScraper:
        return TargetScraper(
            Target(name="ONE", host="127.0.0.1", port=1),
            Auth(user="monitor", password=PASSWORD),
            Module(),
            Scrape(connect_timeout=60.0, budget=None),
            CATALOGUE,
            clock=self.clock,
            open_connection=self._open,
        )

    def happen(self, event: str, dice: random.Random) -> None:
        """One event, after which the connection to the server may be gone."""
        match event:
            case "failover":
                self.side.server.drop()
                self.active = 1 - self.active
            case "restart":
                self.side.restart()
                self.side.server.drop()
                self.before[self.active] = {}
            case "start":
                self.side.shows_start(dice.choice(MOVES))
            case "clock":
                self.side.set_clock(dice.choice([-3600.0, -100.0, 100.0, 3600.0]))
            case "clear":
                self.side.server.model.clear_monitors()
            case "nodes":
                for side in self.sides:
                    side.server.faults.instances = dice.randint(1, 3)
            case "exporter":
                self.scraper.close()
                self.scraper = self._scraper()
                self.scraper.restore_totals(self.saved)

    def advance(self) -> None:
        """Let both servers work for a while; the truth is what the active one did."""
        self.passed += STEP
        for number, side in enumerate(self.sides):
            side.server.model.advance(STEP)
            now = side.counters()
            for key, value in now.items():
                growth = value - self.before[number].get(key, 0)
                self.worked[number, *key] += growth
                if number == self.active:
                    self.truth[key] += growth
            self.before[number] = now

    def scrape(self) -> Values:
        """The totals of one scrape; of an interrupted one what there is."""
        last = ScrapeResult(self.clock.monotonic() + 60, COLLECTORS, clock=self.clock)
        self.scraper.scrape(last)
        if totals := self.scraper.saved_totals(last):
            self.saved = {totals.module: totals.content}
        found: Values = {}
        for families in last.collected.values():
            for family in families:
                for values, total in family.samples:
                    labels = dict(zip(family.labels, values, strict=True))
                    of = labels.get("cache") or labels.get("spinlock") or ""
                    if (family.name, of) in self.truth and family.name.endswith("_total"):
                        key = family.name, of, labels.get("instance_id", "")
                        found[key] = found.get(key, 0.0) + total
        return found


@dataclass(frozen=True)
class Sample:
    """A total, and the truth at that time. side: the server that answered; worked: what it has counted in all."""

    at: float
    total: float
    true: float
    side: int
    worked: float

    def possible_growth(self, last: "Sample") -> float:
        """What a total may grow by: the truth, or what the server has counted if the same one answered last time.

        When a scrape is lost, that server may have been away meanwhile and have worked more than the other one. It is
        the same by its name, node and start, so nobody who reads can know.
        """
        own = self.worked - last.worked if self.side == last.side else 0.0
        return max(self.true - last.true, own)


History = dict[Key, list[Sample]]


@contextmanager
def sides(version: str, dice: random.Random) -> Iterator[list[Side]]:
    """Two servers of one name, with clocks that agree or not, and different pasts."""
    with ExitStack() as stack:
        made = []
        # Twins with equal dates and counters would be one server for anybody who only reads.
        for number, up in enumerate(dice.sample([60, 600, 7200, 20_000], 2)):
            ahead = dice.choice([0, 0, 1800, -1800]) if number else 0
            began = BEGIN + timedelta(seconds=ahead - up)
            server = stack.enter_context(run(version, "quiet-oltp", speed=0.0, start=began))
            server.model.advance(up)
            made.append(Side(server))
        yield made


def play(seed: int) -> tuple[History, list[str]]:
    """One history, and its events step by step. Where nothing happens, the growth is the truth."""
    dice = random.Random(seed)
    version = CLUSTER if seed % 4 == 3 else "16.0 SP04"
    choices = (*EVENTS, *(["nodes"] * 4 if version == CLUSTER else []))
    history: History = defaultdict(list)
    events: list[str] = []
    with sides(version, dice) as both:
        site = Site(both, version == CLUSTER)
        site.advance()
        for _ in range(STEPS):
            event = dice.choice(choices) if dice.random() < 0.45 and site.passed > 2 * STEP else ""
            if event:
                site.happen(event, dice)
            events.append(event)
            site.advance()
            for (metric, of, instance), total in site.scrape().items():
                worked = site.worked[site.active, metric, of]
                sample = Sample(site.passed, total, site.truth[metric, of], site.active, worked)
                history[metric, of, instance].append(sample)
                check(history[metric, of, instance], event, (seed, events, metric, of, instance))
        site.scraper.close()
    assert any(len(samples) > 3 for samples in history.values()), events
    return history, events


def check(samples: list[Sample], event: str, what: object) -> None:
    """Growth since the last sample of a series is at most the truth; where nothing happened, it is the truth."""
    if len(samples) < 2:
        return
    last, now = samples[-2:]
    grown, true = now.total - last.total, now.true - last.true
    assert 0 <= grown <= TOLERANCE * now.possible_growth(last), (grown, true, what)
    if not event and now.at - last.at == STEP:
        assert grown == pytest.approx(true), (grown, true, what)


def in_prometheus(histories: list[History], folder: Path) -> None:
    """rate() over what was exported against rate() over the truth, in a real Prometheus."""
    lines: dict[str, list[str]] = {"exported": [], "true": []}
    for number, history in enumerate(histories):
        for (metric, of, instance), samples in history.items():
            labels = f'{{history="{number}",metric="{metric}",of="{of}",instance_id="{instance}"}}'
            # From far above zero, so that rate() does not look for the start of the counter.
            true = 1e9
            for last, sample in pairwise([samples[0], *samples]):
                at = START + sample.at
                true += sample.possible_growth(last)
                lines["exported"].append(f"exported_total{labels} {sample.total!r} {at}")
                lines["true"].append(f"true_total{labels} {true!r} {at}")
    text = "".join(f"# TYPE {name} counter\n" + "\n".join(each) + "\n" for name, each in lines.items())
    with prometheus_with(text + "# EOF\n", folder) as url, Prometheus(url) as prometheus:
        for window in (30, 45, 60, 120):
            for step in range(3, STEPS + 2):
                end = START + step * STEP
                rates = f"rate(exported_total[{window}s]) > {TOLERANCE} * rate(true_total[{window}s])"
                assert prometheus.query(rates, end) == []
        assert prometheus.query("sum(rate(exported_total[120s])) > 0", START + STEPS * STEP)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_no_rate_exceeds_the_true_one(count: int, tmp_path: Path) -> None:
    played = [play(seed) for seed in range(count)]
    assert {event for _, events in played for event in events} >= {"failover", "restart", "start", "nodes"}
    in_prometheus([history for history, _ in played], tmp_path)


@pytest.mark.parametrize("believed", ["every start", "every server"])
def test_these_histories_find_an_exporter_that_believes(
    believed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if believed == "every server":
        monkeypatch.setattr("ase_exporter.metrics.counters.change", lambda *_: "")
    else:
        monkeypatch.setattr("ase_exporter.metrics.epochs._is_later", lambda *_: True)
        monkeypatch.setattr("ase_exporter.metrics.counters.TableCounters._is_young", lambda *_: True)
    with pytest.raises(AssertionError):
        for seed in range(24):
            play(seed)
