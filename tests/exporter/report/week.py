"""A simulated server over days and nights: changes, an outage, and an exporter that was away.

At noon the users of an order system contend for the spinlocks of the default data cache, until the cache gets more
partitions; the address locks come next, until their ratio is lowered. Then somebody raises the ratio of the object
descriptors, and undoes it.
"""

import math
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from tests.e2e.simulated_time import Deed, Recording, record
from tests.exporter.report.past import without
from tests.exporter.simulated import reading

from ase_exporter.assets import load_yaml
from ase_exporter.rules.intervals import SCRAPES_PER_WINDOW
from ase_simulator.model import SimulatedServer

HOUR = 3600
# A Monday, at midnight.
START = 1_768_176_000.0
SERVER = "ORDERS"
INTERVAL, LAG = 240, 60
COLLECTORS = frozenset(
    {
        *("state", "server", "engines", "threads", "spinlocks", "configuration", "database_space"),
        *("data_caches", "cache_pools"),
    }
)
CPU_TIMES = ("UserCPUTime", "SystemCPUTime", "IOCPUTime", "IdleCPUTime")
MIN_USERS, MAX_USERS = 20, 500
CACHE = "default data cache"
# The model's databases do not fill; this one is added. Bytes, and the seconds in which it fills from empty.
FILLING, FILLING_SIZE, FILLING_SECONDS = "archive", 40e9, 9 * 24 * HOUR
# An order system, without the steps of the day.
SCENARIO = Path(__file__).with_name("week.yaml")


def partitions(count: int) -> Deed:
    """Give the cache that many partitions."""
    return lambda server: server.configure_cache(CACHE, partitions=count)


def option(name: str, value: int) -> Deed:
    """Set a server option."""
    return lambda server: server.set_option(name, value, "sa")


@dataclass(frozen=True)
class Story:
    """What happens, in hours since Monday, midnight, where it begins and ends.

    away: the exporter was not scraped. down: the server did not run. snapshots: seconds between those of the
    configuration.
    """

    first: int
    hours: int
    changes: Mapping[float, Deed]
    away: tuple[float, float]
    down: tuple[float, float] | None = None
    snapshots: float = INTERVAL

    @property
    def start(self) -> float:
        """Unix time."""
        return START + self.first * HOUR

    @property
    def end(self) -> float:
        """Unix time."""
        return self.start + self.hours * HOUR

    @property
    def deeds(self) -> Mapping[float, Deed]:
        """All that is done to the server, by hour of the week."""
        if self.down is None:
            return self.changes
        stop, start = self.down
        return {
            **self.changes,
            stop: lambda server: server.shutdown(),
            start: lambda server: server.restart(),
        }


WEEK = Story(
    0,
    7 * 24,
    {
        58.5: partitions(8),
        85.0: option("lock address spinlock ratio", 5),
        107.0: option("open object spinlock ratio", 1000),
        111.0: option("open object spinlock ratio", 5),
    },
    away=(26.0, 29.5),
    down=(123.0, 123.75),
)
# Short enough for every run of the tests. Every fourth scrape has a snapshot, the first one after the change too.
MORNING = Story(9, 4, {11.4: partitions(8)}, away=(12.5, 12.75), snapshots=4 * INTERVAL)


def users(hour: int) -> int:
    """Few at night, most at noon, fewer on the weekend."""
    day, clock = divmod(hour, 24)
    share = math.sin(math.pi * (clock - 6) / 14) if 6 <= clock <= 20 else 0.0
    return round(MIN_USERS + (MAX_USERS - MIN_USERS) * share * (0.35 if day % 7 >= 5 else 1.0))


def scenario(story: Story) -> dict[str, object]:
    """The content of the scenario's file."""
    content: dict[str, object] = load_yaml(SCENARIO.read_text(encoding="utf-8"))
    hours = range(story.first, story.first + story.hours)
    content["steps"] = [
        {"name": f"hour {n}", "seconds": HOUR, "workload": {"users": users(n)}} for n in hours
    ]
    return content


@dataclass
class Truth:
    """The counters inside the simulated server at every full hour."""

    hours: dict[int, dict[str, float]] = field(default_factory=dict, repr=False)

    def note(self, hour: int) -> Deed:
        """Read the counters."""

        return lambda server: self.hours.update({hour: _counters(server)})

    def growth(self, hour: int, *names: str) -> float:
        """How much counters grew in the hour that begins then, as recorded rates see it.

        They look back over a window, so that on average they are half of it late; the load is steady within an hour.
        """
        late = SCRAPES_PER_WINDOW * INTERVAL / 2 / HOUR
        return (1 - late) * self._growth(hour, names) + late * self._growth(
            max(hour - 1, min(self.hours)), names
        )

    def _growth(self, hour: int, names: Iterable[str]) -> float:
        first, last = self.hours[hour], self.hours[hour + 1]
        return sum(last[name] - first[name] for name in names)

    def busy(self, hour: int) -> float:
        """CPU busy, 0-1."""
        return self.growth(hour, *CPU_TIMES[:2]) / self.growth(hour, *CPU_TIMES)

    def spinning(self, hour: int) -> float:
        """The share of engine time spent spinning, 0-1, at 10 ns an iteration (monEngine counts seconds)."""
        return self.growth(hour, "spins") * 1e-8 / self.growth(hour, *CPU_TIMES)

    def transactions(self, hour: int) -> float:
        """Per second."""
        return self.growth(hour, "Transactions") / HOUR

    def contention(self, hour: int, spinlock: str) -> float:
        """Waits / grabs, 0-1: the report takes them from the counters, so that they are those of the hour."""
        return self._growth(hour, [f"waits {spinlock}"]) / self._growth(hour, [f"grabs {spinlock}"])


def _counters(server: SimulatedServer) -> dict[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    counters = server.world.counters
    slots = (counters.grabs.tolist(), counters.spins.tolist(), counters.waits.tolist())
    for spinlock, grabs, spins, waits in zip(counters.names, *slots, strict=True):
        sums["spins"] += spins
        sums[f"grabs {spinlock}"] += grabs
        sums[f"waits {spinlock}"] += waits
    for row in server.table("monEngine"):
        for column in CPU_TIMES:
            sums[column] += float(row[column])  # type: ignore[arg-type]
    for row in server.table("monState"):
        sums["Transactions"] += float(row["Transactions"])  # type: ignore[arg-type]
    return dict(sums)


@dataclass(frozen=True)
class Week:
    """What was scraped, and what was true."""

    recording: Recording
    truth: Truth


def play(story: Story) -> Week:
    """Scrape the server while the story goes on."""
    truth = Truth()
    deeds: dict[int, Deed] = {}
    for hour in range(story.hours):
        _also(deeds, hour * HOUR, truth.note(story.first + hour))
    for when, deed in story.deeds.items():
        _also(deeds, round((when - story.first) * HOUR), deed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "week.yaml"
        path.write_text(yaml.safe_dump(scenario(story)), encoding="utf-8")
        recording = record(
            str(path),
            story.hours * HOUR,
            interval=INTERVAL,
            lag=LAG,
            snapshots=story.snapshots,
            deeds=deeds,
            module=reading(*COLLECTORS),
        )
    _fill(recording)
    without(recording, *((hour - story.first) * HOUR for hour in story.away))
    return Week(recording, truth)


def _fill(recording: Recording) -> None:
    """Add a database whose data fill up."""
    labels = ("database", "use")
    up = next(samples for key, samples in recording.series.items() if key[0] == "ase_up")
    for name, shrinks in (("ase_database_size_bytes", 0.0), ("ase_database_free_bytes", 1 / FILLING_SECONDS)):
        recording.series[name, labels, (FILLING, "data")] = [
            FILLING_SIZE * (1 - shrinks * ((number + 1) * INTERVAL - LAG)) if there == 1 else None
            for number, there in enumerate(up)
        ]


def _also(deeds: dict[int, Deed], second: int, deed: Deed) -> None:
    first = deeds.get(second)
    deeds[second] = (lambda server: (first(server), deed(server))) if first else deed
