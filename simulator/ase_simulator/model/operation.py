"""Computes the operating point: the rates of all counters from configuration and workload."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ase_simulator.model import spinlocks
from ase_simulator.model.caches import Cache, Caches
from ase_simulator.model.demands import CacheDemand, Group, cache_demands, groups
from ase_simulator.model.inventory import Inventory
from ase_simulator.model.options import Options
from ase_simulator.model.queueing import Array, Demand, Point, settle
from ase_simulator.model.waits import wait_flows
from ase_simulator.model.workload import FEATURE_OPTIONS, Effect, Workload

SPIN_TURN_NS = 10.0
"""Nanoseconds of one iteration of the spin loop; converts spin time to the Spins counter."""

FEATURES = ("TSX", "SNAP", "LLDC", "LFB", "IMRS", "HCB")

_CAS_HOLD_NS = 15.0
_CAS_BUCKETS = 4096
CONTROLLER_S = 3e-6
"""Seconds of an I/O controller's thread per packet and disk I/O."""

_DISK_IO_S = 0.002
_MAX_IO_BUSY = 0.6

CACHE_COLUMNS = (
    "searches", "physical_reads", "apf_reads", "physical_writes", "cas_grabs", "cas_waits", "cas_spins",
)  # fmt: skip
OBJECT_COLUMNS = (
    "logical_reads", "physical_reads", "apf_reads", "physical_writes", "inserts", "updates", "deletes",
    "lock_requests", "lock_waits", "operations", "pages_read", "read_ms",
)  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """The steady state between two changes. Rates are per simulated second.

    names, slots: name and slot number of each spinlock slot, parallel to the arrays of `point`.
    flows: units per second of every scalar counter. caches: CACHE_COLUMNS of each cache; objects:
    OBJECT_COLUMNS of each table. engine_shares: share of the busy time of each engine online.
    """

    point: Point
    names: tuple[str, ...]
    spin_rate: Array
    flows: dict[str, float]
    caches: dict[str, Array]
    objects: Array
    system_share: float
    engine_shares: Array

    @cached_property
    def waiting(self) -> float:
        """Seconds per second of all waits."""
        return sum(rate for name, rate in self.flows.items() if name.startswith("wait seconds"))

    @cached_property
    def engine_rates(self) -> dict[str, Array]:
        """Seconds per second of each engine online: user (spinning included), system, io, idle.

        An idle engine counts as `io` while any disk I/O is outstanding.
        """
        spinning = self.point.spinning * self.engine_shares
        working = (self.point.busy - self.point.spinning) * self.engine_shares
        total = np.minimum(spinning + working, 1.0)
        system = np.minimum(working * self.system_share, total)
        pending = min(1.0 - math.exp(-self.flows["disk_ios"] * _DISK_IO_S), _MAX_IO_BUSY)
        idle = 1.0 - total
        return {
            "user": total - system,
            "system": system,
            "io": idle * pending,
            "idle": idle * (1.0 - pending),
        }


def operate(
    workload: Workload,
    users: int,
    options: Options,
    caches: Caches,
    inventory: Inventory,
    engines: int,
    seed: int,
) -> Operation:
    """Find the operating point with that many users at work."""
    effects = active_effects(workload, options, caches)
    demands = cache_demands(workload, caches, inventory, workload.drivers())
    units = per_transaction_units(workload, demands)
    found = groups(workload, options, caches, demands, units, engines, effects, seed)
    demand = demand_of(workload, users, found, effects, units, engines)
    point = settle(demand)
    read_s = workload.read_ms / 1000
    further = {event: ms / 1000 for event, ms in workload.waits_ms.items()}
    wait_s = demand.wait_s - units["physical_reads"] * read_s - sum(further.values())
    flows = {name: value * point.throughput for name, value in units.items()}
    flows["controller_seconds"] = (
        flows["packets_received"] + flows["packets_sent"] + flows["disk_ios"]
    ) * CONTROLLER_S
    objects = _object_rates(workload, caches, inventory, demands, flows)
    totals = dict(zip(OBJECT_COLUMNS, objects.sum(axis=0).tolist(), strict=True))
    flows["apf_reads"], flows["pages_read"] = totals["apf_reads"], totals["pages_read"]
    flows["single_reads"] = flows["physical_reads"] - flows["apf_reads"]
    flows |= wait_flows(point.throughput, demand.think_s, wait_s, read_s, point.run_queue, flows)
    for event, seconds in further.items():
        flows.setdefault(f"waits {event}", point.throughput)
        flows[f"wait seconds {event}"] = flows.get(f"wait seconds {event}", 0.0) + seconds * point.throughput
    return Operation(
        point=point,
        names=tuple(group.name for group in found for _ in group.shares),
        spin_rate=point.spin_s / (SPIN_TURN_NS * 1e-9),
        flows=flows,
        caches={cache.name: _cache_rates(cache, demands[cache.name], flows) for cache in caches.all()},
        objects=objects,
        system_share=workload.system_share,
        engine_shares=spinlocks.spread("engine", engines, 0.01, seed),
    )


def per_transaction_units(workload: Workload, demands: dict[str, CacheDemand]) -> dict[str, float]:
    """Units per transaction of every driver, with the disk traffic: what the caches miss, and writes."""
    units = workload.drivers()
    reads = sum(demand.physical_reads for demand in demands.values())
    writes = units["data_writes"] + units["log_writes"]
    return units | {"physical_reads": reads, "physical_writes": writes, "disk_ios": reads + writes}


def demand_of(
    workload: Workload,
    users: int,
    found: list[Group],
    effects: list[Effect],
    units: dict[str, float],
    engines: int,
) -> Demand:
    wait_ms = workload.wait_ms * math.prod(effect.wait for effect in effects) + sum(
        workload.waits_ms.values()
    )
    return Demand(
        users=users,
        think_s=workload.think_ms / 1000 / workload.transactions_per_request,
        wait_s=(wait_ms + units["physical_reads"] * workload.read_ms) / 1000,
        service_s=workload.cpu_ms / 1000 * math.prod(effect.cpu for effect in effects),
        engines=engines,
        background_s=min(workload.background_cpu, engines * 0.5),
        grabs=np.concatenate([group.shares * group.per_transaction for group in found]),
        background_grabs=np.concatenate([group.shares * group.per_second for group in found]),
        hold_s=np.repeat([g.hold_ns * 1e-9 for g in found], [len(g.shares) for g in found]),
        coherence=workload.coherence,
    )


def active_effects(workload: Workload, options: Options, caches: Caches) -> list[Effect]:
    """Effects of the enabled Memscale features on this workload, and the adjustment of the present step."""
    on = {feature for feature, option in FEATURE_OPTIONS.items() if options.run(option)}
    if any(cache.lockless for cache in caches.all()):
        on.add("LLDC")
    # In the order in which the case study adds them.
    return [
        workload.adjust,
        *(workload.effects[name] for name in FEATURES if name in on & workload.effects.keys()),
    ]


def _cache_rates(cache: Cache, demand: CacheDemand, flows: dict[str, float]) -> Array:
    throughput = flows["transaction"]
    searches = demand.searches * throughput
    grabs = demand.cas_grabs * throughput
    clash = min(grabs / _CAS_BUCKETS * _CAS_HOLD_NS * 1e-9, 0.99)
    waits = grabs * clash
    reads = demand.physical_reads * throughput
    writes = demand.data_write_share * flows["data_writes"] + demand.log_write_share * flows["log_writes"]
    return np.array(
        [searches, reads, reads * cache.apf_share, writes, grabs, waits, waits * _CAS_HOLD_NS / SPIN_TURN_NS]
    )


def _object_rates(
    workload: Workload,
    caches: Caches,
    inventory: Inventory,
    demands: dict[str, CacheDemand],
    flows: dict[str, float],
) -> Array:
    """OBJECT_COLUMNS of each table; their sums are those of the caches and of the server."""
    rates = np.zeros((len(inventory.tables), len(OBJECT_COLUMNS)))
    total_writes = sum(entry.writes for entry in workload.objects) or 1.0
    for table in inventory.tables:
        entry = table.object
        name = caches.of(entry.database, entry.name)
        reads, misses = demands[name].objects[table.position]
        written = entry.writes / total_writes
        physical = misses * flows["transaction"]
        prefetched = physical * caches.run[name].apf_share
        data, log = workload.write_shares(entry)
        writes = flows["data_writes"] * data + flows["log_writes"] * log
        logical = reads * flows["transaction"]
        share = logical / flows["logical_reads"] if flows["logical_reads"] else 0.0
        rates[table.position] = (
            logical,
            physical,
            prefetched,
            writes,
            *(flows[kind] * written for kind in ("inserts", "updates", "deletes")),
            flows["row_locks"] * share,
            flows["lock_waits"] * written,
            flows["statements"] * share,
            physical - prefetched + prefetched * (max(caches.run[name].pools) // caches.page_kb),
            physical * workload.read_ms,
        )
    return rates
