"""Generated states of servers: what was read of each, as every view gets it, whatever the view."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ase_exporter.assets import load_yaml
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import Diagnosis
from ase_exporter.diagnosis.measures import Rows
from ase_exporter.diagnosis.provenance import collector_of, why
from ase_exporter.metrics.families import Family, Kind
from ase_exporter.readings.watch import WINDOW

# How many states are compared, in every build and in the slow tier.
NUMBERS = [30, pytest.param(500, marks=pytest.mark.slow)]
Pairs = tuple[tuple[str, str], ...]
EVENTS = {
    29: "waiting for a disk read to complete",
    36: "waiting for memory or a buffer",
    41: "waiting to acquire latch",
    52: "waiting for a disk write to complete",
    54: "waiting for a disk write to complete",
    61: "waiting for internal system event",
    150: "waiting to take a lock",
    215: "waiting to be scheduled",
    250: "waiting for input from the network",
    251: "waiting to output to the network",
    259: "waiting for internal system event",
    9999: "waiting for something that no catalogue knows",
}
SERIES: list[dict[str, Any]] = load_yaml(Path(__file__).with_name("states.yaml").read_text(encoding="utf-8"))
HEALTHY: dict[str, list[dict[str, Any]]] = load_yaml(
    Path(__file__).with_name("healthy.yaml").read_text(encoding="utf-8")
)


@dataclass
class State:
    """The series of a server: gauges with their values, counters with their growth per second.

    switched_off: collectors that are not read. options: run values of those that are off, if they are why. momentary:
    gauges that were 0 until the last scrape.
    """

    series: dict[tuple[str, Pairs], float] = field(default_factory=dict)
    switched_off: set[str] = field(default_factory=set)
    momentary: set[str] = field(default_factory=set)
    options: dict[str, float] = field(default_factory=dict)

    source, at, in_steps = "a generated state", 1_800_000_000.0, True

    def set(self, metric: str, value: float, **labels: str) -> None:
        """Add a series."""
        self.series[metric, tuple(sorted(labels.items()))] = value

    def known(self) -> Iterator[tuple[str, Pairs, float]]:
        """The series of collectors that are read."""
        for (metric, labels), value in self.series.items():
            if collector_of(metric) not in self.switched_off:
                yield metric, labels, value

    def rows(self, metric: str) -> Rows:
        """The series of one metric."""
        found = [(dict(labels), value) for (name, labels), value in self.series.items() if name == metric]
        return [] if found and collector_of(metric) in self.switched_off else found

    rates = rows

    def values(self, metric: str, *, lasting: bool = False) -> Rows:
        """The series of a gauge; lasting, those that are momentary are 0."""
        factor = 0.0 if lasting and metric in self.momentary else 1.0
        return [(labels, factor * value) for labels, value in self.rows(metric)]

    def window(self, metric: str) -> float:
        """As of `Readings`."""
        return WINDOW

    def unknown(self, metric: str, *, is_rate: bool) -> str:
        """As of `Readings`."""
        collector = collector_of(metric)
        if collector not in self.switched_off:
            return ""
        return why(metric, "switched_off", self.options) if self.options else f"collector {collector} is off"


# Collectors without which a state may be generated, and how often that is.
OPTIONAL = (
    *("spinlocks", "waits", "devices", "databases", "database_space", "engines", "processes", "threads"),
    *("process_activity", "cache_pools", "error_log", "rep_senders", "statement_cache"),
)
DARK = 0.12
LASTING = sorted(
    selection.metric
    for measure in catalogue().measures.values()
    for selection in measure.selections
    if selection.lasting
)
MOMENTARY = 0.2


def generated(seed: int) -> State:
    """A state in which a few things may be wrong, at sizes from one engine to 64."""
    chance = random.Random(seed)
    state = State()
    state.set("ase_up", float(chance.random() > 0.03))
    engines = chance.choice([1, 4, 16])
    busy = chance.choice([0.0, 0.01, 0.3, 0.8, 0.97, 1.0])
    _engines(state, chance, engines, busy)
    _spinlocks(state, chance, engines * max(busy, 0.01))
    _waits(state, chance)
    _processes(state, chance)
    _full_logs(state, chance)
    _devices(state, chance)
    _rest(state, chance)
    state.momentary = {name for name in LASTING if chance.random() < MOMENTARY}
    state.switched_off = (
        {name for name in OPTIONAL if chance.random() < DARK} if chance.random() < 0.5 else set()
    )
    return state


def healthy(busy: float = 0.4) -> State:
    """A server of four engines that has everything and lacks nothing."""
    state = State()
    for engine in "0123":
        state.set("ase_engine_cpu_seconds_total", busy, engine=engine, mode="user")
        state.set("ase_engine_cpu_seconds_total", 1 - busy, engine=engine, mode="idle")
    for labels, row in _rows(HEALTHY["same"]):
        state.set(row["metric"], float(row["value"]), **labels)
    return state


def unlike(seed: int) -> State:
    """A healthy server of which up to four things are otherwise, be they wrong or not."""
    chance = random.Random(seed)
    state = healthy(chance.choice([0.005, 0.1, 0.4, 0.8]))
    for row in chance.sample(HEALTHY["unlike"], chance.randint(0, 4)):
        state.set(row["metric"], float(chance.choice(row["values"])), **row.get("labels", {}))
    return state


def _rows(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Each row of a file of series, with each combination of its labels."""
    for row in rows:
        each = row.get("each", {})
        for values in product(*each.values()):
            yield row.get("labels", {}) | dict(zip(each, values, strict=True)), row


def _often(chance: random.Random, usual: float, *others: float, share: float = 0.15) -> float:
    """Mostly what is usual, now and then something else."""
    return chance.choice(others) if others and chance.random() < share else usual


def _engines(state: State, chance: random.Random, engines: int, busy: float) -> None:
    skewed = chance.random() < 0.1
    for number in range(engines):
        own = min(1.0, 0.98 if skewed and number == 0 else 0.1 * busy if skewed else busy)
        for mode, share in {"user": 0.8 * own, "system": 0.2 * own, "io": 0.0, "idle": 1 - own}.items():
            state.set("ase_engine_cpu_seconds_total", share, engine=str(number), mode=mode)
        state.set(
            "ase_thread_cpu_seconds_total",
            own * _often(chance, 1.02, 0.6),
            thread=str(number),
            pool="p",
            mode="user",
        )
    state.set("ase_engines", engines, state="online")


def _spinlocks(state: State, chance: random.Random, engines: float) -> None:
    for name, kind in (
        ("default data cache", "data_cache"),
        ("Ides Spinlocks", "index_descriptor"),
        ("fglockspins", "lock"),
    ):
        grabs = chance.choice([0.0, 100.0, 1e5, 1e7])
        contention = chance.choice([0.0, 0.01, 0.05, 0.2, 0.7])
        spun = chance.choice([0.0, 0.001, 0.05, 0.3]) * engines / 1e-8
        labels = {"spinlock": name, "class": kind}
        state.set("ase_spinlock_grabs_total", grabs, **labels)
        state.set("ase_spinlock_waits_total", grabs * contention, **labels)
        state.set("ase_spinlock_spins_total", spun, **labels)


def _waits(state: State, chance: random.Random) -> None:
    for number, kind in EVENTS.items():
        seconds = _often(chance, chance.choice([0.0, 0.02, 0.3]), 5.0, 60.0)
        labels = {"event_id": str(number), "event": f"event {number}", "class": kind}
        state.set("ase_wait_seconds_total", seconds, **labels)
        state.set("ase_waits_total", chance.choice([10.0, 1000.0]), **labels)


def _processes(state: State, chance: random.Random) -> None:
    blocked = _often(chance, 0.0, 1.0, 25.0, 190.0)
    state.set("ase_processes_blocked", blocked)
    state.set("ase_process_longest_block_seconds", 12.0 if blocked else 0.0)
    state.set("ase_lock_waits_over_threshold", blocked if chance.random() < 0.7 else 0.0)
    for spid, cpu in (("57", _often(chance, 0.1, 0.95)), ("58", 0.02), ("rest", 3.0)):
        labels = {"spid": spid, "login": "app", "application": "orders"}
        state.set("ase_process_cpu_seconds_total", cpu, **labels)
        state.set("ase_process_locks", 100 * cpu, **labels)


def _full_logs(state: State, chance: random.Random) -> None:
    for name in ("orders", "tempdb"):
        full = chance.random() < 0.05
        state.set("ase_database_log_full", float(full), database=name)
        state.set("ase_database_suspended_processes", 30.0 if full else 0.0, database=name)
    condition = "suspect" if chance.random() < 0.04 else "online"
    state.set("ase_database_state", 1.0, database="orders", state=condition)
    if chance.random() < 0.3:
        state.set("ase_database_oldest_transaction_seconds", chance.choice([3.0, 9000.0]), database="orders")


def _devices(state: State, chance: random.Random) -> None:
    for name in ("data1", "log1"):
        ios = chance.choice([0.0, 5.0, 300.0])
        state.set("ase_device_ios_total", ios, device=name, operation="read")
        state.set("ase_device_ios_total", ios, device=name, operation="write")
        latency = _often(chance, 0.001, 0.08)
        state.set("ase_device_io_seconds_total", 2 * ios * latency, device=name)


def _rest(state: State, chance: random.Random) -> None:
    """The series of states.yaml."""
    for labels, row in _rows(SERIES):
        others = row.get("others", [])
        value = _often(chance, chance.choice(row["usual"]), *others, share=row.get("share", 0.15))
        state.set(row["metric"], float(value), **labels)
    if chance.random() < 0.1:
        state.set("ase_error_log_messages_total", chance.choice([0.001, 0.5]), error="1105", severity="17")


def families_at(state: State, seconds: float, *, last: bool = True) -> dict[str, list[Family]]:
    """What the collectors of a state read after so many seconds. last: in the last scrape, in which momentary gauges
    are not 0."""
    found: dict[str, dict[str, Family]] = {}
    for metric, pairs, value in state.known():
        families = found.setdefault(collector_of(metric), {})
        if metric not in families:
            kind: Kind = "counter" if metric.endswith("_total") else "gauge"
            families[metric] = Family(metric, kind, "", tuple(name for name, _ in pairs))
        shown = value * seconds if metric.endswith("_total") else value
        gone = metric in state.momentary and not last
        families[metric].add(0.0 if gone else shown, *(text for _, text in pairs))
    return {collector: list(families.values()) for collector, families in found.items()}


def said(found: Diagnosis) -> tuple[str, str, dict[str, object], set[str]]:
    """What must be equal: the verdict, the findings with their ranks, and what is not known."""
    ranks: dict[str, object] = {each.name: pytest.approx(each.rank, abs=1e-5) for each in found.findings}
    return found.state, found.word, ranks, {each.name for each in found.unknown}
