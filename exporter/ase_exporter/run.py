"""One scrape of one target: what it has read so far, how that went, and the families it becomes."""

import threading
import time
from dataclasses import dataclass, field

from ase_exporter.catalogue.limits import limit_series
from ase_exporter.changes.snapshot import Look
from ase_exporter.families import Family, single
from ase_exporter.refusal import Refusals


@dataclass(slots=True)
class Outcome:
    """How one collector fared in one scrape. reason: '' or why it gave nothing."""

    seconds: float
    reason: str = ""


@dataclass
class Run:
    """One scrape under way; another thread may take what it has when time is up.

    module: what is read, by name; '' for the target's own. families: what others gave beforehand;
    collected: what each collector gave, up to series_limit samples in all.
    up: the server answered at least one statement. error: why the target, not just a collector, failed.
    stretched: how many collectors are read less often, to keep the budget. refusals: of its logins, once it is over.
    """

    deadline: float
    collectors: frozenset[str] | None = None
    families: list[list[Family]] = field(default_factory=list)
    module: str = ""
    collected: dict[str, list[Family]] = field(default_factory=dict)
    series_limit: int = 5000
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    own: list[Family] = field(default_factory=list)
    look: Look | None = None
    up: bool = False
    error: str = ""
    error_kind: str = ""
    version: str = ""
    stretched: int = 0
    refusals: Refusals | None = None
    started: float = field(default_factory=time.monotonic)
    _finished: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def finish(self) -> bool:
        """True for the first who asks: only one answer leaves."""
        with self._lock:
            first, self._finished = not self._finished, True
            return first

    def all_families(self, stuck: bool) -> list[Family]:
        """Everything read, and how it went."""
        error_kind = "stuck" if stuck else self.error_kind
        families = [
            single("ase_up", "gauge", "1 if the server answered in this scrape.", float(self.up)),
            single(
                "ase_exporter_scrape_duration_seconds",
                "gauge",
                "How long this scrape of the target took.",
                time.monotonic() - self.started,
            ),
        ]
        if error_kind:
            error = Family(
                "ase_exporter_target_error", "gauge", "1: why the target could not be read.", ("reason",)
            )
            error.add(1.0, error_kind)
            families.append(error)
        for group in list(self.families):
            families += group
        families += limit_series(dict(self.collected), self.series_limit)
        return families + self._collector_families() + self.own

    def _collector_families(self) -> list[Family]:
        outcomes = sorted(self.outcomes.items())
        success = Family(
            "ase_exporter_collector_success",
            "gauge",
            "1 if the collector was read whole in this scrape.",
            ("collector",),
        )
        duration = Family(
            "ase_exporter_collector_duration_seconds",
            "gauge",
            "How long reading the collector took.",
            ("collector",),
        )
        for name, outcome in outcomes:
            success.add(float(not outcome.reason), name)
            duration.add(outcome.seconds, name)
        available = Family(
            "ase_exporter_collector_available",
            "gauge",
            "0 if the server cannot give what the collector reads, with the reason; else 1.",
            ("collector", "reason"),
        )
        for name, _ in outcomes:
            if name not in self.unavailable:
                available.add(1.0, name, "")
        for name, reason in sorted(self.unavailable.items()):
            available.add(0.0, name, reason)
        return [family for family in (success, duration, available) if family.samples]
