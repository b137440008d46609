"""Histories of a server whose every figure is known, stored in a real Prometheus."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pytest
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
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def total(self, at: float, figure: str) -> float:
        """What a counter of the server has grown to at a time."""
        grown = 0.0
        ends = [*(work.since for work in self.work[1:]), float("inf")]
        for work, end in zip(self.work, ends, strict=True):
            seconds = max(0.0, min(at, end) - max(self.start, work.since))
            grown += (
                seconds
                * {
                    "grabs": GRABS,
                    "waits": GRABS * work.contention,
                    "transactions": work.transactions,
                    "busy": work.busy,
                    "idle": 1 - work.busy,
                }[figure]
            )
        return grown

    def lines(self) -> Mapping[str, list[str]]:
        """All samples in OpenMetrics, by metric."""
        self._lines.clear()
        at = self.start + self.offset
        while at <= self.end:
            if not any(start <= at <= end for start, end in self.gaps):
                self._scrape(at)
            at += self.interval
        return self._lines

    def _scrape(self, at: float) -> None:
        booted = max((each for each in self.booted if each <= at), default=self.start - 86400)
        self._add("ase_up", "", 1, at)
        self._add("ase_start_timestamp_seconds", "", booted, at)
        self._add("ase_transactions_total", "", HISTORY_BEFORE + self.total(at, "transactions"), at)
        for mode in ("user", "idle"):
            total = HISTORY_BEFORE + self.total(at, {"user": "busy"}.get(mode, mode))
            self._add("ase_engine_cpu_seconds_total", f'engine="0",mode="{mode}"', total, at)
        for figure in ("grabs", "waits"):
            total = HISTORY_BEFORE + self.total(at, figure)
            labels = 'class="data_cache",spinlock="log cache"'
            self._add(f"ase_spinlock_{figure}_total", labels, total, at)
        latest: dict[str, Detected] = {}
        for change in self.changes:
            # In the scrape after the one that took the snapshot.
            if change.at + self.interval / 2 < at:
                labels = f'kind="{change.kind}",name="{change.name}",from="0",to="{change.new}"'
                latest[labels] = change
        for labels, change in latest.items():
            self._add("ase_change_timestamp_seconds", labels, change.at, at)
            self._add("ase_change_not_before_timestamp_seconds", labels, change.not_before, at)

    def _add(self, name: str, labels: str, value: float, at: float) -> None:
        pairs = ",".join(filter(None, [f'job="ase",instance="{self.server}"', labels]))
        self._lines.setdefault(name.removesuffix("_total"), []).append(f"{name}{{{pairs}}} {value!r} {at}")


def _kind(name: str) -> str:
    return "gauge" if name.endswith("_timestamp_seconds") or name == "ase_up" else "counter"


@contextmanager
def stored(folder: Path, *lives: Recorded) -> Iterator[str]:
    """A real Prometheus that holds the lives of servers; its URL."""
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        pytest.skip("prometheus is not installed")
    samples: dict[str, list[str]] = {}
    for life in lives:
        for name, lines in life.lines().items():
            samples.setdefault(name, [f"# TYPE {name} {_kind(name)}"]).extend(lines)
    text = "\n".join([*chain(*samples.values()), "# EOF", ""])
    with prometheus_with(text, folder) as url:
        yield url
