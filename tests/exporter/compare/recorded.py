"""Histories of a server whose every figure is known, stored in a real Prometheus."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.exporter.compare.conftest import HISTORY_BEFORE, prometheus_with

SERVER = "ASE1"
GRABS = 1e5


@dataclass(frozen=True)
class Work:
    """What the server does from a time on: share of waits, transactions per second, share of CPU used."""

    since: float
    contention: float
    transactions: float = 1000.0
    busy: float = 0.5


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
    """The life of a server from start to end, scraped at an interval. gaps: spans without a scrape."""

    start: float
    end: float
    work: Sequence[Work]
    changes: Sequence[Detected] = ()
    interval: float = 5.0
    offset: float = 0.0
    booted: Sequence[float] = ()
    gaps: Sequence[tuple[float, float]] = ()
    server: str = SERVER

    def total(self, at: float, figure: str) -> float:
        """What a counter of the server has grown to at a time."""
        grown = HISTORY_BEFORE
        ends = [*(work.since for work in self.work[1:]), float("inf")]
        for work, end in zip(self.work, ends, strict=True):
            seconds = max(0.0, min(at, end) - max(self.start, work.since))
            rates = {"grabs": GRABS, "waits": GRABS * work.contention, "transactions": work.transactions}
            rates |= {"user": work.busy, "idle": 1 - work.busy}
            grown += seconds * rates[figure]
        return grown

    def lines(self) -> Iterator[str]:
        """All samples in OpenMetrics."""
        at = self.start + self.offset
        while at <= self.end:
            if not any(start <= at <= end for start, end in self.gaps):
                for name, labels, value in self._scrape(at):
                    pairs = ",".join(filter(None, [f'job="ase",instance="{self.server}"', labels]))
                    yield f"{name}{{{pairs}}} {value!r} {at}"
            at += self.interval

    def _scrape(self, at: float) -> Iterator[tuple[str, str, float]]:
        booted = max((each for each in self.booted if each <= at), default=self.start - 86400)
        yield "ase_up", "", 1
        yield "ase_start_timestamp_seconds", "", booted
        yield "ase_transactions_total", "", self.total(at, "transactions")
        for mode in ("user", "idle"):
            yield "ase_engine_cpu_seconds_total", f'engine="0",mode="{mode}"', self.total(at, mode)
        for figure in ("grabs", "waits"):
            labels = 'class="data_cache",spinlock="log cache"'
            yield f"ase_spinlock_{figure}_total", labels, self.total(at, figure)
        latest: dict[str, Detected] = {}
        for change in self.changes:
            # In the scrape after the one that took the snapshot.
            if change.at + self.interval / 2 < at:
                labels = f'kind="{change.kind}",name="{change.name}",from="0",to="{change.new}"'
                latest[labels] = change
        for labels, change in latest.items():
            yield "ase_change_timestamp_seconds", labels, change.at
            yield "ase_change_not_before_timestamp_seconds", labels, change.not_before


@contextmanager
def stored(folder: Path, *lives: Recorded) -> Iterator[str]:
    """A real Prometheus that holds the lives of servers; its URL."""
    with prometheus_with((line for life in lives for line in life.lines()), folder) as url:
        yield url
