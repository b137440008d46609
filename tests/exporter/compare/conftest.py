"""A real Prometheus that holds the counters of a server whose every figure is known."""

import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tests.programs import answers, eventually, listening

INTERVAL = 15
PER_CPU_UNIT = 100.0


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which a server does the same."""

    name: str
    minutes: float
    busy: float
    transactions: float
    contention: dict[str, float]
    noise: float = 0.01


@dataclass
class History:
    """What Prometheus holds: phases with their starts, and the change marks between them."""

    url: str
    start: float
    phases: list[Phase]
    starts: list[float] = field(default_factory=list)

    def window(self, number: int, skip: float = 0.0) -> str:
        """A phase as START..END."""
        start = self.starts[number]
        return f"{start + skip}..{start + self.phases[number].minutes * 60}"


PHASES = [
    Phase("base", 12, 0.90, 1000, {"system tables cache": 0.856, "log cache": 0.041}),
    Phase("TSX", 12, 0.86, 1200, {"system tables cache": 0.579, "log cache": 0.031}),
    Phase("same", 12, 0.86, 1200, {"system tables cache": 0.579, "log cache": 0.031}),
    Phase("busy", 12, 0.95, 2400, {"system tables cache": 0.0, "log cache": 0.159}),
]
ENGINES = 4
# Counters that begin near zero bend what rate() makes of their first minutes.
HISTORY_BEFORE = 1e9


def scraped(start: float, phases: list[Phase]) -> list[str]:
    """The samples of the history, simulated here: counters grow by the phases' rates with noise."""
    generator = np.random.default_rng(11)
    totals: dict[str, float] = {}
    lines: list[str] = []
    at = start

    def gauge(name: str, labels: str, value: float) -> None:
        pairs = ",".join(filter(None, ['instance="ASE1"', labels]))
        lines.append(f"{name}{{{pairs}}} {value!r} {at}")

    def grow(name: str, labels: str, amount: float) -> None:
        totals[name + labels] = totals.get(name + labels, HISTORY_BEFORE) + amount
        gauge(f"{name}_total", labels, totals[name + labels])

    for number, phase in enumerate(phases):
        for _ in range(round(phase.minutes * 60 / INTERVAL)):
            at += INTERVAL
            done = phase.transactions * INTERVAL * (1 + phase.noise * generator.normal())
            busy = phase.busy * (1 + phase.noise * generator.normal())
            gauge("ase_up", "", 1)
            gauge("ase_info", 'server_name="ASE_SQL"', 1)
            gauge("ase_start_timestamp_seconds", "", start - 86400)
            grow("ase_transactions", "", done)
            grow("ase_deadlocks", "", 0)
            for engine in range(ENGINES):
                grow("ase_engine_cpu_seconds", f'engine="{engine}",mode="user"', busy * INTERVAL)
                grow("ase_engine_cpu_seconds", f'engine="{engine}",mode="idle"', (1 - busy) * INTERVAL)
                grow(
                    "ase_thread_cpu_seconds", f'mode="user",thread="{engine}"', done / PER_CPU_UNIT / ENGINES
                )
            for spinlock, contention in phase.contention.items():
                labels = f'class="data_cache",spinlock="{spinlock}"'
                waits = contention * (1 + phase.noise * generator.normal())
                grow("ase_spinlock_grabs", labels, 1e6)
                grow("ase_spinlock_waits", labels, 1e6 * waits)
                grow("ase_spinlock_spins", labels, 1e8 * waits)
            for passed, earlier in enumerate(phases[1 : number + 1], 1):
                mark = start + sum(p.minutes for p in phases[:passed]) * 60
                labels = f'kind="option",name="{earlier.name}",from="0",to="1"'
                gauge("ase_change_timestamp_seconds", labels, mark)
    return lines


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """A Prometheus on loopback with the phases one after the other, the last ending a quarter of an hour ago."""
    folder = tmp_path_factory.mktemp("prometheus")
    length = sum(phase.minutes for phase in PHASES) * 60
    start = time.time() - 900 - length
    # On a whole minute: what is compared must not hang on when it is compared.
    start -= start % 60
    with prometheus_with(scraped(start, PHASES), folder) as url:
        found = History(url, start, PHASES)
        for phase in PHASES:
            found.starts.append(start)
            start += phase.minutes * 60
        yield found


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
