"""Before and after of changes at random times equal what the simulated server's own counters say.

Random are the times of the changes and their number, the interval of scrapes and of snapshots, the settling time and
the length of the windows; all of it on simulated time.
"""

import random
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import yaml
from tests.e2e.simulated_time import Deed, record
from tests.exporter.compare.conftest import prometheus_with
from tests.exporter.simulated import reading
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import Comparison, compare_windows
from ase_exporter.compare.marks import marks_between
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import windows_around
from ase_exporter.compare.windows import Span
from ase_exporter.errors import UserError
from ase_simulator.model import SimulatedServer

MEMSCALE = REPOSITORY / "simulator" / "ase_simulator" / "scenarios" / "memscale.yaml"
SWITCHES = (
    "enable transactional memory",
    "simplified native access plan",
    "enable LFB index",
    "enable in-memory row storage",
    "enable HCB index",
)
COLLECTORS = frozenset({"state", "engines", "threads", "spinlocks", "waits", "devices", "data_caches"})
START = 1_767_225_600.0
SERVER = "MEMSCALE"
SELECTOR = f'instance="{SERVER}"'
# Classes of waits that are no waiting of transactions: running, input from the network, the server's own timers.
IDLE_CLASSES = {0, 7, 9}
# The counters of the simulator's tables that the measures are made of.
TRUTH = {
    "monState": (None, ("Transactions", "NumDeadlocks", "PhysicalReads")),
    "monEngine": (None, ("UserCPUTime", "SystemCPUTime", "IOCPUTime", "IdleCPUTime")),
    "monThread": (None, ("UserTime", "SystemTime")),
    "monDataCache": ("CacheName", ("CacheSearches", "PhysicalReads")),
    "monSysWaits": (None, ("WaitTime",)),
    "monDeviceIO": (None, ("IOTime", "Reads", "APFReads", "Writes")),
}

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]

# Scrapes are one second before multiples of this, and the other times that windows are made of are multiples of it.
EDGES = 5

Key = tuple[str, str, str]


@dataclass
class Truth:
    """The counters inside the server at the seconds at which windows may begin and end, by table, name and column."""

    seconds: dict[int, dict[Key, float]] = field(default_factory=dict)
    now: int = 0

    def observe(self, server: SimulatedServer) -> None:
        if self.now % EDGES in (0, EDGES - 1):
            self.seconds[self.now] = self._counters(server)
        self.now += 1

    def _counters(self, server: SimulatedServer) -> dict[Key, float]:
        sums: defaultdict[Key, float] = defaultdict(float)
        counters = server.world.counters
        slots = (counters.grabs.tolist(), counters.spins.tolist(), counters.waits.tolist())
        for spinlock, *values in zip(counters.names, *slots, strict=True):
            for column, value in zip(("Grabs", "Spins", "Waits"), values, strict=True):
                sums["monSpinlockActivity", spinlock, column] += value
        idle = {
            row["WaitEventID"]
            for row in server.table("monWaitEventInfo")
            if row["WaitClassID"] in IDLE_CLASSES
        }
        for table, (name, columns) in TRUTH.items():
            for row in server.table(table):
                if table == "monSysWaits" and row["WaitEventID"] in idle:
                    continue
                for column in columns:
                    sums[table, str(row[name]) if name else "", column] += float(row[column])  # type: ignore[arg-type]
        return dict(sums)

    def growth(self, span: Span, table: str, column: str, name: str = "") -> float:
        first, last = (self.seconds[round(at - START)] for at in (span.start, span.end))
        return last.get((table, name, column), 0.0) - first.get((table, name, column), 0.0)

    def value(self, span: Span, measure: str, name: str) -> float | None:
        """A measure as measures.yaml defines it; None if it is not known here."""
        of = partial(self.growth, span)
        transactions = of("monState", "Transactions")
        cpu = of("monEngine", "UserCPUTime") + of("monEngine", "SystemCPUTime")
        engines = cpu + of("monEngine", "IOCPUTime") + of("monEngine", "IdleCPUTime")
        spins = sum(
            of("monSpinlockActivity", "Spins", each)
            for table, each, column in next(iter(self.seconds.values()))
            if (table, column) == ("monSpinlockActivity", "Spins")
        )
        waits, grabs = (of("monSpinlockActivity", column, name) for column in ("Waits", "Grabs"))
        ios = sum(of("monDeviceIO", column) for column in ("Reads", "APFReads", "Writes"))
        threads = of("monThread", "UserTime") + of("monThread", "SystemTime")
        searches = of("monDataCache", "CacheSearches", name)
        parts = {
            "cpu_busy": (cpu, engines),
            "transactions": (transactions, span.seconds),
            "deadlocks": (of("monState", "NumDeadlocks"), span.seconds),
            "physical_reads": (of("monState", "PhysicalReads"), transactions),
            "throughput_per_cpu_unit": (transactions, threads / 1000),
            "cache_contention": (waits, grabs),
            "spinlock_contention": (waits, grabs),
            "spins": (spins, transactions),
            "spin_share": (spins * 1e-8, engines),
            "cache_hits": (searches - of("monDataCache", "PhysicalReads", name), searches),
            "wait_time": (1000 * of("monSysWaits", "WaitTime"), transactions),
            "io_time": (of("monDeviceIO", "IOTime"), ios),
        }
        return parts[measure][0] / parts[measure][1] if measure in parts else None


@dataclass(frozen=True)
class Play:
    """One random life of the server."""

    seconds: int
    interval: int
    snapshots: int
    settle: float
    length: float
    deeds: dict[int, Deed]


def random_play(seed: int) -> Play:
    dice = random.Random(seed)
    at, on = dice.randint(200, 400), dict.fromkeys(SWITCHES, 0)
    deeds: dict[int, Deed] = {}

    def switch(name: str, value: int, server: SimulatedServer) -> None:
        server.set_option(name, value, "sa")

    # One of them goes back and forth: each time its series in the metric is the same.
    names = dice.sample(SWITCHES, dice.randint(2, 3))
    order = [*names, names[0], names[0]]
    for number, name in enumerate(order, 1):
        # The last one has time around it, so that at least one comparison is possible.
        at += 400 if number == len(order) else 0
        on[name] = 1 - on[name]
        deeds[at] = partial(switch, name, on[name])
        # Some are neighbours that nothing separates.
        at += dice.choice([dice.randint(61, 120), dice.randint(120, 400), dice.randint(250, 500)])
    interval = dice.choice([5, 10, 15])
    return Play(
        seconds=(at + 400) // 30 * 30,
        interval=interval,
        snapshots=dice.choice([interval, 30, 45]),
        settle=dice.choice([0.0, 5.0, 15.0, 45.0]),
        length=dice.choice([180.0, 300.0, 900.0]),
        deeds=deeds,
    )


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Memscale without its steps."""
    content = load_yaml(MEMSCALE.read_text())
    del content["steps"], content["repeat"]
    path = tmp_path_factory.mktemp("scenario") / "memscale.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def compared(prometheus: Prometheus, mark: Change, play: Play, now: float) -> Comparison | None:
    """The comparison around a change, with the windows that `compare --around` takes; None if there is no time."""
    try:
        marks, spans = windows_around(
            prometheus, SELECTOR, mark, None, now, length=play.length, settle=play.settle
        )
        return compare_windows(prometheus, SELECTOR, spans, marks=marks)
    except UserError as error:
        assert "no time" in str(error) or "expected at least" in str(error), error
        return None


@pytest.mark.parametrize("seed", range(10))
def test_before_and_after_are_the_truth_from_inside_the_server(
    seed: int, scenario: Path, tmp_path: Path
) -> None:
    play, truth = random_play(seed), Truth()
    recording = record(
        str(scenario),
        play.seconds,
        deeds=play.deeds,
        lag=1,
        module=reading(*COLLECTORS),
        interval=play.interval,
        snapshots=play.snapshots,
        observe=truth.observe,
    )
    now = START + play.seconds - play.seconds % EDGES - 1
    checked = 0
    with (
        prometheus_with(recording.openmetrics(SERVER, START), tmp_path) as url,
        Prometheus(url) as prometheus,
    ):
        marks = [
            mark for mark in marks_between(prometheus, SELECTOR, START, now, now) if mark.kind == "option"
        ]
        assert len(marks) == len(play.deeds)
        for mark, made in zip(marks, sorted(play.deeds), strict=True):
            assert mark.earliest <= START + made <= mark.at
            comparison = compared(prometheus, mark, play, now)
            for span in comparison.spans if comparison else ():
                assert no_change_in(span, play)
            for row in comparison.rows if comparison else ():
                for span, value in zip(comparison.spans, row.values, strict=True):  # type: ignore[union-attr]
                    true = truth.value(span, row.key, row.name)
                    if true is not None and value is not None:
                        tolerance = max(0.01 * abs(true), 0.0005 if row.measure.unit == "ratio" else 0.01)
                        assert value == pytest.approx(true, abs=tolerance), (play, row.title, span)
                        checked += 1
    assert checked >= 20, play


def no_change_in(span: Span, play: Play) -> bool:
    times = [START + at for at in sorted(play.deeds)]
    return bisect_left(times, span.start) == bisect_left(times, span.end)
