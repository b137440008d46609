"""The workload: the part of a scenario that no configuration option changes."""

from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ase_simulator.faults import NotNegative
from ase_simulator.yaml_text import load_yaml

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]

FEATURE_OPTIONS = {
    "TSX": "enable transactional memory",
    "SNAP": "simplified native access plan",
    "LFB": "enable LFB index",
    "IMRS": "enable in-memory row storage",
    "HCB": "enable HCB index",
}
"""Memscale features that are server options; LLDC is a property of each cache."""

DEFAULTS: dict[str, dict[str, Any]] = load_yaml(
    files(__package__).joinpath("defaults.yaml").read_text("utf-8")
)


class Strict(BaseModel):
    """A part of a scenario: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Database(Strict):
    """Sizes of a database, and its last dump.

    dumped_hours_ago: when it began, before the scenario's start; None for never. It took dump_hours. dump_failed: a
    later dump, dump_failed_hours_ago, failed. log_dumped_hours_ago: the same of its log. guest: it has a user guest.
    """

    name: str
    data_mb: Annotated[int, Field(gt=0)] = 10240
    log_mb: Annotated[int, Field(gt=0)] = 2048
    data_devices: Annotated[int, Field(gt=0)] = 2
    replicated: bool = False
    guest: bool = False
    dumped_hours_ago: NotNegative | None = None
    dump_hours: NotNegative = 0.5
    dump_failed_hours_ago: NotNegative | None = None
    log_dumped_hours_ago: NotNegative | None = None


class Object(Strict):
    """One table with its indexes.

    reads: its share of all logical reads; writes: of all row changes (both are scaled to sum 1).
    cold: share of its pages not in cache that a read hits. scheme: locking scheme.
    """

    database: str
    name: str
    reads: NotNegative
    writes: NotNegative = 0.0
    kind: Literal["user", "system", "log"] = "user"
    indexes: Annotated[int, Field(ge=0)] = 1
    size_mb: Positive = 100.0
    cold: Share = 0.02
    scheme: Literal["allpages", "datapages", "datarows"] = "datarows"


class CacheWork(Strict):
    """How a cache's spinlocks are used.

    grabs: per search of the cache; relink_grabs: further ones per search where the strategy is strict LRU;
    hold_ns: nanoseconds from grab to release; skew: how unlike its partitions are (spinlocks.yaml).
    """

    grabs: Positive = 1.7
    relink_grabs: NotNegative = 1.0
    hold_ns: Positive = 100.0
    skew: NotNegative = 0.7


class SpinlockWork(Strict):
    """Overrides of a spinlock in spinlocks.yaml."""

    hold_ns: Positive | None = None
    each: dict[str, float] | None = None
    skew: NotNegative | None = None


class Effect(Strict):
    """Factors on engine time (cpu), waits, and the hold times of spinlocks and caches by name.

    lockless_hold: on the hold time of the remaining grabs of a lockless cache.
    """

    cpu: Positive = 1.0
    wait: Positive = 1.0
    hold: dict[str, Positive] = Field(default={})
    lockless_hold: dict[str, Positive] = Field(default={})


class Batch(Strict):
    """Work in batches: the users run `transactions`, pause, and repeat.

    abort_s: a run is aborted after that many seconds; 0 for never.
    """

    transactions: Positive
    pause_s: Positive = 30.0
    abort_s: NotNegative = 0.0


class Workload(Strict):
    """The demand of all users.

    users: sessions in a closed loop. think_ms: pause between requests of `transactions_per_request`
    transactions. wait_ms: per transaction for the log, locks and latches; waits_ms: further ones by wait event;
    read_ms: per page that must come from disk. cpu_ms: engine time per transaction without spinning, of which
    system_share counts as system ticks. background_cpu: engines busy with housekeeping. held_locks: row locks that
    one session holds beside what the transactions do. coherence: how much
    engines that spin slow down the one that holds (queueing.py). caches: by name; `*` stands for all others.
    effects: of the Memscale features, by name. adjust: further factors, of a step of the timeline.
    """

    users: Annotated[int, Field(ge=0)] = 0
    login: str = "app"
    program: str = "app server"
    think_ms: NotNegative = 500.0
    transactions_per_request: Positive = 1.0
    wait_ms: NotNegative = 1.0
    waits_ms: dict[int, NotNegative] = Field(default={})
    read_ms: NotNegative = 0.5
    cpu_ms: Positive = 1.0
    system_share: Annotated[float, Field(ge=0, lt=1)] = 0.1
    background_cpu: NotNegative = 0.01
    held_locks: int = Field(default=0, ge=0)
    coherence: NotNegative = 0.5
    per_transaction: dict[str, NotNegative] = Field(default={})
    databases: tuple[Database, ...] = ()
    objects: tuple[Object, ...] = ()
    caches: dict[str, CacheWork] = Field(default={})
    spinlocks: dict[str, SpinlockWork] = Field(default={})
    effects: dict[str, Effect] = Field(default={})
    adjust: Effect = Effect()
    batch: Batch | None = None

    def cache_work(self, name: str) -> CacheWork:
        return self.caches.get(name) or self.caches.get("*") or CacheWork()

    def write_shares(self, entry: Object) -> tuple[float, float]:
        """An object's part of the data writes and of the log writes; without logs, tables have both."""
        logs = sum(each.kind == "log" for each in self.objects)
        if entry.kind == "log":
            return 0.0, 1 / logs
        share = entry.writes / (sum(each.writes for each in self.objects if each.kind != "log") or 1.0)
        return share, 0.0 if logs else share

    def drivers(self) -> dict[str, float]:
        """Units of each driver per transaction."""
        return {"transaction": 1.0, **DEFAULTS["per_transaction"], **self.per_transaction}
