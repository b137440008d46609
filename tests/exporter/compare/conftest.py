"""A real Prometheus that holds the counters of a server whose every figure is known."""

import random
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.programs import answers, eventually, listening

SERVER = "ASE1"
INTERVAL = 15.0
PER_CPU_UNIT = 100.0
GRABS = 1e5
# Counters that begin near zero bend what rate() makes of their first minutes.
HISTORY_BEFORE = 1e9


@dataclass(frozen=True)
class Work:
    """What the server does from a time on: share of waits, transactions per second, share of CPU used.

    contention: of the log cache; tables: of the system tables cache.
    """

    since: float
    contention: float
    transactions: float = 1000.0
    busy: float = 0.5
    tables: float = 0.0

    @property
    def rates(self) -> dict[str, float]:
        """What the counters grow by, a second."""
        waits = {"log cache": GRABS * self.contention, "system tables cache": GRABS * self.tables}
        cpu = {"user": self.busy, "idle": 1 - self.busy}
        return {"grabs": GRABS, "transactions": self.transactions} | waits | cpu


@dataclass(frozen=True)
class Detected:
    """A change as the exporter exposes it. at, not_before: as in `Change`."""

    at: float
    not_before: float
    name: str
    kind: str = "option"
    new: str = "1"


@dataclass
class Recorded:
    """The life of a server from start to end, scraped at an interval.

    gaps: spans without a scrape. noise: how much too early or late a counter is read, in intervals, one sigma.
    """

    start: float
    end: float
    work: Sequence[Work]
    changes: Sequence[Detected] = ()
    interval: float = 5.0
    offset: float = 0.0
    booted: Sequence[float] = ()
    gaps: Sequence[tuple[float, float]] = ()
    server: str = SERVER
    noise: float = 0.0

    def total(self, at: float, figure: str) -> float:
        """What a counter of the server has grown to at a time."""
        scrape = round((at - self.start) / self.interval)
        at += self.noise * self.interval * random.Random(f"{figure} {scrape}").gauss()
        grown = HISTORY_BEFORE
        ends = [*(work.since for work in self.work[1:]), float("inf")]
        for work, end in zip(self.work, ends, strict=True):
            seconds = max(0.0, min(at, end) - max(self.start, work.since))
            grown += seconds * work.rates[figure]
        return grown

    def lines(self) -> Iterator[str]:
        """All samples, for `store`."""
        at = self.start + self.offset
        while at <= self.end:
            if not any(start <= at <= end for start, end in self.gaps):
                for name, labels, value in self._scrape(at):
                    pairs = ",".join(filter(None, [f'job="ase",instance="{self.server}"', labels]))
                    yield f"{name}{{{pairs}}} {value!r} {at}"
            at += self.interval

    def _scrape(self, at: float) -> Iterator[tuple[str, str, float]]:
        booted = max((each for each in self.booted if each <= at), default=self.start - 86400)
        transactions = self.total(at, "transactions")
        yield "ase_up", "", 1
        yield "ase_info", f'server_name="{self.server}_SQL"', 1
        yield "ase_start_timestamp_seconds", "", booted
        yield "ase_transactions_total", "", transactions
        yield "ase_deadlocks_total", "", HISTORY_BEFORE
        yield "ase_thread_cpu_seconds_total", 'mode="user",thread="0"', transactions / PER_CPU_UNIT
        for mode in ("user", "idle"):
            yield "ase_engine_cpu_seconds_total", f'engine="0",mode="{mode}"', self.total(at, mode)
        tables = ["system tables cache"] if any(work.tables for work in self.work) else []
        for cache in ("log cache", *tables):
            labels = f'class="data_cache",spinlock="{cache}"'
            waits = self.total(at, cache)
            for figure, value in ("grabs", self.total(at, "grabs")), ("waits", waits), ("spins", 100 * waits):
                yield f"ase_spinlock_{figure}_total", labels, value
        latest: dict[str, Detected] = {}
        for change in self.changes:
            # In the scrape after the one that took the snapshot.
            if change.at + self.interval / 2 < at:
                labels = f'kind="{change.kind}",name="{change.name}",from="0",to="{change.new}"'
                latest[labels] = change
        for labels, change in latest.items():
            yield "ase_change_timestamp_seconds", labels, change.at
            yield "ase_change_not_before_timestamp_seconds", labels, change.not_before


def phases(start: float, minutes: float, works: Mapping[str, Sequence[float]]) -> Recorded:
    """A life in which a change begins each phase but the first. works: by name of the phase, without their times."""
    work = [Work(start + minutes * 60 * number, *each) for number, each in enumerate(works.values())]
    changes = [Detected(each.since, each.since, name) for each, name in zip(work, works, strict=True)][1:]
    end = start + minutes * 60 * len(works)
    return Recorded(start, end, work, changes, interval=INTERVAL, offset=INTERVAL, noise=0.015)


PHASES = {
    "base": (0.041, 1000, 0.90, 0.856),
    "TSX": (0.031, 1200, 0.86, 0.579),
    "same": (0.031, 1200, 0.86, 0.579),
    "busy": (0.159, 2400, 0.95, 0.0),
}
MINUTES = 12


@dataclass(frozen=True)
class History:
    """What Prometheus holds: a life of phases."""

    url: str
    life: Recorded

    @property
    def starts(self) -> list[float]:
        return [each.since for each in self.life.work]

    def window(self, number: int) -> str:
        """A phase as START..END."""
        return f"{self.starts[number]}..{self.starts[number] + MINUTES * 60}"


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """A Prometheus on loopback with the phases one after the other, the last ending a quarter of an hour ago."""
    # On a whole minute: what is compared must not hang on when it is compared.
    life = phases(time.time() // 60 * 60 - 900 - MINUTES * 60 * len(PHASES), MINUTES, PHASES)
    with prometheus_with(life.lines(), tmp_path_factory.mktemp("prometheus")) as url:
        yield History(url, life)


def store(samples: Iterable[str], folder: Path) -> None:
    """Make samples the past of a Prometheus whose files are there. Each is a line NAME{LABELS} VALUE TIME."""
    metrics: defaultdict[str, list[str]] = defaultdict(list)
    for line in samples:
        metrics[line.partition("{")[0]].append(line)
    with (folder / "samples.txt").open("w", encoding="utf-8") as file:
        # In OpenMetrics the samples of a metric follow each other.
        for name, lines in metrics.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            print(f"# TYPE {name.removesuffix('_total')} {kind}", *lines, sep="\n", file=file)
        print("# EOF", file=file)
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "samples.txt", folder / "data"],
        check=True,
        capture_output=True,
    )


def prometheus_with(samples: Iterable[str], folder: Path) -> AbstractContextManager[str]:
    """Prometheus, to be entered, whose past is these samples. folder: for its files."""
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        pytest.skip("prometheus is not installed")
    store(samples, folder)
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n", encoding="utf-8")
    return running_prometheus(folder)


@contextmanager
def running_prometheus(folder: Path) -> Iterator[str]:
    """Prometheus over a folder with prometheus.yml and data, ready: its URL."""
    options = (
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=30d",
        "--web.listen-address=127.0.0.1:0",
    )
    with listening(folder / "prometheus.log", "prometheus", *options) as port:
        url = f"http://127.0.0.1:{port}"
        # Ready once it has replayed its blocks; until then it answers 503.
        eventually(f"{url} is ready", lambda: answers(f"{url}/-/ready"))
        yield url
