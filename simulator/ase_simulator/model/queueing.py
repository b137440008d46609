"""The fixed point of users, engines and spinlocks: pure functions over arrays, no state.

One transaction takes `service` seconds of engine time for its work plus the time that it spins. A spinlock
slot that is grabbed `rate` times a second and held `hold` seconds is busy with probability rho = rate * hold;
rho ** 2 / (2 * (1 - rho)) engines spin for it on average (an M/D/1 queue). A grab finds it busy (contention,
waits / grabs) with probability rho * (E - 1) / E, since with E engines one of them is the grabber itself.

Engines that spin slow down the one that holds: its cache line travels. With q spinning engines a slot is
held (1 + coherence * q / (1 + q / 4)) times as long; the effect levels off, as spinning backs off.

Spinning engines are busy engines, so the number of engines bounds the sum. Users form a closed loop:
users = X * (think + other waits) + busy engines + run queue, X transactions a second; the run queue is
Sakasegawa's approximation of M/M/E. At given hold times every term grows with X, so bisection finds X; hold
times and X are then found in turns until they agree.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BISECTIONS = 36
_MAX_ITERATIONS = 60
_AGREED = 1e-4
_LAST_RHO = 0.9999
_NEGLIGIBLE_RHO = 1e-3
_BACKOFF = 4.0


@dataclass(frozen=True, slots=True)
class Demand:
    """The demand on the server.

    users: closed loop of that many; think_s, wait_s: seconds per transaction away from the engines (think
    time; disk, log and lock waits). service_s: engine seconds of useful work per transaction.
    engines: engines online. background_s: engine seconds used per second beside the transactions.
    grabs: grabs per transaction of each slot; background_grabs: per second; hold_s: seconds held per grab
    while nobody spins. coherence: how much spinning engines slow down the holder.
    """

    users: float
    think_s: float
    wait_s: float
    service_s: float
    engines: int
    background_s: float
    grabs: Array
    background_grabs: Array
    hold_s: Array
    coherence: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """The operating point.

    throughput: transactions per second. busy: engines busy with work or spinning. spinning: engines that
    spin. run_queue: runnable tasks that wait for an engine. grab_rate, wait_rate: per second and slot;
    spin_s: seconds spun per second and slot.
    """

    throughput: float
    busy: float
    spinning: float
    run_queue: float
    grab_rate: Array
    wait_rate: Array
    spin_s: Array


def settle(demand: Demand) -> Point:
    """Solve the closed loop."""
    upper = _max_throughput(demand)
    rate = demand.grabs * upper + demand.background_grabs
    matter = rate * demand.hold_s > _NEGLIGIBLE_RHO
    small = replace(
        demand,
        grabs=demand.grabs[matter],
        background_grabs=demand.background_grabs[matter],
        hold_s=demand.hold_s[matter],
    )
    slower = wanted = np.ones(len(small.hold_s))
    for _ in range(_MAX_ITERATIONS):
        slower = (slower + wanted) / 2
        throughput = _bisect(replace(small, hold_s=small.hold_s * slower), upper)
        wanted = slowdown(_rho(small, throughput, slower), demand.coherence)
        if not slower.size or float(np.abs(wanted / slower - 1).max()) < _AGREED:
            break
    all_slower = np.ones(len(demand.hold_s))
    all_slower[matter] = slower
    point = _point(replace(demand, hold_s=demand.hold_s * all_slower), throughput)
    away = throughput * (demand.think_s + demand.wait_s)
    return replace(point, run_queue=max(demand.users - away - (point.busy - demand.background_s), 0.0))


def spinning_engines(rho: Array) -> Array:
    """Mean number of engines that spin for a slot that is busy with that probability."""
    spinning: Array = rho**2 / (2.0 * (1.0 - rho))
    return spinning


def slowdown(rho: Array, coherence: float) -> Array:
    """How many times as long a slot is held because engines spin for it."""
    spinning = spinning_engines(rho)
    slower: Array = 1.0 + coherence * spinning / (1.0 + spinning / _BACKOFF)
    return slower


def run_queue_delay(engines: int, utilisation: float) -> float:
    """Time a runnable task waits for an engine, in units of its own service time (Sakasegawa 1977)."""
    exponent = float(np.sqrt(2.0 * (engines + 1))) - 1.0
    return float(utilisation**exponent / (engines * (1.0 - utilisation)))


def _max_throughput(demand: Demand) -> float:
    cycle = demand.think_s + demand.wait_s + demand.service_s
    if demand.users <= 0 or cycle <= 0:
        return 0.0
    return min(demand.users / cycle, demand.engines / demand.service_s)


def _bisect(demand: Demand, upper: float) -> float:
    low, high = 0.0, upper
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _users_needed(demand, middle) > demand.users:
            high = middle
        else:
            low = middle
    return low


def _rho(demand: Demand, throughput: float, slower: Array) -> Array:
    rate = demand.grabs * throughput + demand.background_grabs
    return np.minimum(rate * demand.hold_s * slower, _LAST_RHO)


def _users_needed(demand: Demand, throughput: float) -> float:
    """Users that are needed for that throughput; infinite if no number suffices."""
    rate = demand.grabs * throughput + demand.background_grabs
    if rate.size and float((rate * demand.hold_s).max()) >= _LAST_RHO:
        return float("inf")
    point = _point(demand, throughput)
    if point.busy >= demand.engines * _LAST_RHO:
        return float("inf")
    away = throughput * (demand.think_s + demand.wait_s)
    return away + point.busy - demand.background_s + point.run_queue


def _point(demand: Demand, throughput: float) -> Point:
    rate = demand.grabs * throughput + demand.background_grabs
    rho = np.minimum(rate * demand.hold_s, _LAST_RHO)
    others = (demand.engines - 1) / demand.engines
    spin = spinning_engines(rho) * others
    spinning = float(spin.sum())
    active = throughput * demand.service_s + spinning
    busy = active + demand.background_s
    queue = active * run_queue_delay(demand.engines, min(busy / demand.engines, _LAST_RHO))
    return Point(throughput, busy, spinning, queue, rate, rate * rho * others, spin)
