"""What a remedy gains: engines, transactions and response time, predicted from what was measured.

A slot of a spinlock that is held for the share c of the time makes c^2 / (2 (1 - c)) engines spin (an M/D/1 queue),
and c is its contention. Spread over k times as many slots, at x times the throughput, it is held for c x / k.
Sessions form a closed loop: what they spend away from the engines for each transaction stays as it is, so that
throughput grows until they, or the engines, are used up. The model spreads grabs evenly: where a few hot rows share one
slot, less is gained; where one slot is hotter than the others, more.

Of what is no spinlock, the account says how much time sessions spend on it: no remedy gains more than that.

Engines that spin slow down the one that holds the spinlock. A spinlock that is near its limit, as if all its spinning
were in one slot, may therefore take up all that is gained: it is named, and the gain is what can be had at most.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ase_exporter.advise.evidence import Evidence
from ase_exporter.diagnosis.account import CPU_PARTS, Account
from ase_exporter.diagnosis.catalogue import threshold

# A slot is never held for longer: the queue for it would have no end.
_MAX_HELD = 0.97
_BISECTIONS = 50
# A slot that would be held for that share of the time may become the next bottleneck.
_NEAR_LIMIT = 0.35
# A spinlock on which that many engines spin limits the throughput already.
_AT_LIMIT = 1.0


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots that take the place of those of a spinlock. share: of its grabs; times: as many slots as it has."""

    share: float = 1.0
    times: float = 1.0


AS_IT_IS = (Slots(),)
# Parts by spinlock.
Changes = Mapping[str, Sequence[Slots]]


@dataclass(frozen=True, slots=True)
class Gain:
    """sessions: seconds per second that sessions no longer spend, in the time account.

    engines: that no longer spin, or no longer do this work. contention: of the spinlock afterwards, 0-1, None if it is
    about none. transactions: more per second. seconds: less of response time for each transaction. Both None where
    connections, CPU or the run queue were not read. then: the spinlock that may become the bottleneck before all this
    is gained, or ''.
    """

    engines: float
    contention: float | None = None
    transactions: float | None = None
    seconds: float | None = None
    then: str = ""
    sessions: float = 0.0


class Load:
    """The load of a server. seconds_per_spin: CPU seconds of one spin."""

    def __init__(self, evidence: Evidence, seconds_per_spin: float) -> None:
        self._locks = {
            each.name: (min(each.contention, _MAX_HELD), each.spins * seconds_per_spin)
            for each in evidence.spinlocks
        }
        self._transactions = evidence.transactions
        self._spinning = sum(spinning for _, spinning in self._locks.values())
        busy = evidence.engines if evidence.busy is None else max(evidence.busy, self._spinning)
        self._work, self._queued = busy - self._spinning, evidence.run_queue or 0.0
        self._most = max(busy, evidence.engines * threshold("cpu.saturated"))
        self._is_saturated = busy >= self._most
        known = None not in (evidence.busy, evidence.run_queue, evidence.connections) and self._transactions
        # Without these, as much work as the engines can do.
        self._away = max(0.0, (evidence.connections or 0.0) - busy - self._queued) if known else 0.0
        self._sessions = busy + self._queued + self._away if known else math.inf
        self._known = bool(known)

    def gain(self, changes: Changes) -> Gain:
        """What is gained if these parts take the place of spinlocks."""
        # The model alone, with nothing changed, may differ from now: that difference is no gain.
        times = self._throughput(changes) / self._throughput({})
        engines = sum(self._locks[name][1] - self._on(name, times, parts) for name, parts in changes.items())
        seconds = self._response(1.0, {}) - self._response(times, changes) if self._known else None
        return Gain(
            engines=engines,
            contention=max(
                min(1.0, self._locks[name][0] * part.share * times / part.times)
                for name, parts in changes.items()
                for part in parts
            ),
            transactions=(times - 1) * self._transactions if self._known else None,
            seconds=seconds,
            then=self._next(times, changes),
            sessions=engines if seconds is None else seconds * self._transactions,
        )

    def relief(self, account: Account, part: str, share: float) -> Gain:
        """What is gained at most if this share of the account is no more, and sessions ask again at once."""
        waited = share * account.sessions
        used = sum(account.parts.get(name, 0.0) for name in CPU_PARTS)
        engines = min(waited, used) if part in CPU_PARTS else 0.0
        left = max(account.sessions - waited, 0.0)
        times = min(
            account.sessions / left if left else math.inf,
            max(1.0, self._most / (used - engines)) if used > engines else math.inf,
        )
        known = self._transactions > 0 and math.isfinite(times)
        return Gain(
            engines=engines,
            transactions=(times - 1) * self._transactions if known else None,
            seconds=waited / self._transactions if known else None,
            sessions=waited,
        )

    def limit(self, changes: Changes) -> str:
        """The spinlock that limits the throughput whatever becomes of these, or ''. None does on idle engines."""
        if not self._is_saturated:
            return ""
        others = {name: engines for name, (_, engines) in self._locks.items() if name not in changes}
        name = max(others, key=others.__getitem__, default="")
        return name if name and others[name] >= _AT_LIMIT else ""

    def _next(self, times: float, changes: Changes) -> str:
        found = {
            name: -engines + math.sqrt(engines**2 + 2 * engines)
            for name, (_, engines) in self._locks.items()
            if name not in changes
        }
        name = max(found, key=found.__getitem__, default="")
        return name if name and found[name] * times >= _NEAR_LIMIT else ""

    def _throughput(self, changes: Changes) -> float:
        """How many times as many transactions as now, at least as many."""
        low, high = 1.0, max(1.0, self._most / self._work if self._work else 1.0)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            busy = middle * self._work + self._spins(middle, changes)
            if busy > self._most or busy + middle * self._away > self._sessions:
                high = middle
            else:
                low = middle
        return low

    def _response(self, times: float, changes: Changes) -> float:
        """Seconds of a transaction on the engines and in their queue."""
        busy = times * self._work + self._spins(times, changes)
        return max(busy, self._sessions - times * self._away) / (times * self._transactions)

    def _spins(self, times: float, changes: Changes) -> float:
        """Engines that spin; infinite if a slot would be held all the time."""
        return math.fsum(self._on(name, times, changes.get(name, AS_IT_IS)) for name in self._locks)

    def _on(self, name: str, times: float, parts: Sequence[Slots]) -> float:
        """Engines that spin on one spinlock; infinite if it would be held all the time."""
        held, spinning = self._locks[name]
        found = 0.0
        for part in parts if spinning else ():
            load = part.share * times
            free = 1 - held * load / part.times
            found += spinning * load**2 / part.times * (1 - held) / free if free > 0 else math.inf
        return found
