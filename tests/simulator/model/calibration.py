"""Calibration: finds the factors that make the model show measured figures.

Used to find the demands of a scenario from a server's published figures. Nothing at run time
uses it.
"""

from dataclasses import dataclass

import numpy as np

from ase_simulator.model.demands import Group, cache_demands, groups
from ase_simulator.model.operation import (
    CONTROLLER_S,
    active_effects,
    demand_of,
    per_transaction_units,
)
from ase_simulator.model.queueing import Array, run_queue_delay, slowdown, spinning_engines
from ase_simulator.model.workload import Effect
from ase_simulator.model.world import World

_STEPS = 200
_MAX_ITERATIONS = 100
_LAST_RHO = 0.9999
_MAX_FACTOR = 1e9


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured figures. busy: 0-1 of all engines; transactions per CPU second of the server's threads;
    contention 0-1 by spinlock or cache name."""

    busy: float
    per_cpu_unit: float
    contention: dict[str, float]


def fit(world: World, figures: Figures) -> Effect:
    """Factors for `adjust` that make a world, as it is configured now, show the figures.

    The world's own `adjust` must be all ones. Raises ValueError if no factors reach the figures.
    """
    engines = len(world.online)
    effects = active_effects(world.workload, world.options, world.caches)
    demands = cache_demands(world.workload, world.caches, world.inventory, world.workload.drivers())
    units = per_transaction_units(world.workload, demands)
    found = groups(world.workload, world.options, world.caches, demands, units, engines, effects, world.seed)
    demand = demand_of(world.workload, world.workload.users, found, effects, units, engines)
    busy = figures.busy * engines
    controllers = (units["packets_received"] + units["packets_sent"] + units["disk_ios"]) * CONTROLLER_S
    throughput = figures.per_cpu_unit * busy / (1 - figures.per_cpu_unit * controllers)
    coherence = world.workload.coherence
    hold: dict[str, float] = {}
    spinning = 0.0
    for group in found:
        if group.name in figures.contention:
            rho = _rho_for(group, throughput, engines, coherence, figures.contention[group.name])
            hold[group.name] = rho.factor
        else:
            rho = _settled(group, throughput, coherence, 1.0)
        spinning += float(spinning_engines(rho.values).sum()) * (engines - 1) / engines
    service_s = (busy - demand.background_s - spinning) / throughput
    active = busy - demand.background_s
    queued = active * run_queue_delay(engines, busy / engines)
    wait_s = (demand.users - active - queued) / throughput - demand.think_s
    reads_s = units["physical_reads"] * world.workload.read_ms / 1000
    if service_s <= 0 or wait_s <= reads_s:
        raise ValueError(f"{world.name}: no demand gives these figures: {figures}")
    return Effect(
        cpu=service_s / demand.service_s,
        wait=(wait_s - reads_s) / (demand.wait_s - reads_s),
        hold=hold,
    )


@dataclass(frozen=True, slots=True)
class _Rho:
    """How busy each slot is when its hold time is multiplied by the factor."""

    factor: float
    values: Array


def _settled(group: Group, throughput: float, coherence: float, factor: float) -> _Rho:
    rate = group.shares * (group.per_transaction * throughput + group.per_second)
    slower = np.ones(len(rate))
    for _ in range(_MAX_ITERATIONS):
        values = np.minimum(rate * group.hold_ns * 1e-9 * factor * slower, _LAST_RHO)
        slower = (slower + slowdown(values, coherence)) / 2
    return _Rho(factor, values)


def _rho_for(group: Group, throughput: float, engines: int, coherence: float, contention: float) -> _Rho:
    low, high = 1 / _MAX_FACTOR, _MAX_FACTOR
    for _ in range(_STEPS):
        middle = float(np.sqrt(low * high))
        values = _settled(group, throughput, coherence, middle).values
        if float((group.shares * values).sum()) * (engines - 1) / engines > contention:
            high = middle
        else:
            low = middle
    return _settled(group, throughput, coherence, low)
