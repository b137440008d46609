"""The time account: where the sessions of a server spend their time."""

from collections.abc import Mapping
from dataclasses import dataclass

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.measures import Measures

CPU_PARTS, RUN_QUEUE = ("work", "spinning"), "run_queue"
# Sessions by which the account and the active sessions may differ: the server's own tasks sleep, too.
_OWN_TASKS = 8.0


@dataclass(frozen=True, slots=True)
class Account:
    """Seconds per second by part of findings.yaml, which is the mean number of sessions that spend it there.

    unknown: why, for the parts that are not known. partial: parts of which there may be more: what waits now is known,
    what has waited is not. active: sessions that were active, None if that is not known. transactions: per second,
    None if not known.
    """

    parts: Mapping[str, float]
    unknown: Mapping[str, str]
    partial: frozenset[str] = frozenset()
    active: float | None = None
    transactions: float | None = None

    @property
    def sessions(self) -> float:
        """The sum of all parts that are known."""
        return sum(self.parts.values())

    def share(self, part: str) -> float | None:
        """The share of a part, 0-1; None if it is not known."""
        if part not in self.parts:
            return None
        return self.parts[part] / self.sessions if self.sessions else 0.0

    @property
    def whole(self) -> bool:
        """Whether all that takes time is known, so that shares are; what spins is part of what was busy."""
        return self.unknown.keys() <= {"spinning"}

    @property
    def shares(self) -> dict[str, float | None]:
        """The share of each part of all time, not of what is known of it; None where not all is known."""
        return {name: self.share(name) if self.whole else None for name in catalogue().account}

    def caused(self, part: str) -> float | None:
        """The share that a part causes: of the run queue, work and spinning each theirs of the CPU.

        Of the run queue itself, what work causes: more engines would help against that.
        """
        share = self.share(part)
        if share is None or part not in (*CPU_PARTS, RUN_QUEUE):
            return share
        used = sum(self.parts.get(name, 0.0) for name in CPU_PARTS)
        queue = self.share(RUN_QUEUE) or 0.0
        own = self.parts.get("work" if part == RUN_QUEUE else part, 0.0) / used if used else 0.0
        return queue * own + (0.0 if part == RUN_QUEUE else share)

    def per_transaction(self, part: str) -> float | None:
        """Seconds of a part in each transaction; None if they are not known."""
        return self.parts[part] / self.transactions if self.transactions and part in self.parts else None

    @property
    def agrees(self) -> bool | None:
        """Whether the sum is about the number of active sessions; None if that is not known."""
        if self.active is None or not self.whole:
            return None
        least, most = sorted((self.active, self.sessions))
        return most - least <= _OWN_TASKS + least


def account_of(measures: Measures, waits: Mapping[str, float], waits_unknown: str) -> Account:
    """The account from measures and from the seconds waited by part."""
    parts: dict[str, float] = {}
    unknown: dict[str, str] = {}
    for name, definition in catalogue().account.items():
        measure = measures.get(definition.measure or definition.now or "")
        # Of waits, what has waited and what waits now.
        found = [None if definition.measure else waits.get(name), measure.value if measure else None]
        if known := [value for value in found if value is not None]:
            parts[name] = max(known)
        else:
            unknown[name] = measure.unknown if measure and definition.measure else waits_unknown
    if "spinning" in parts and "work" in parts:
        # Spins are counted, their cost is estimated: together they take no more than the engines were busy.
        parts["spinning"] = min(parts["spinning"], parts["work"])
        parts["work"] -= parts["spinning"]
    partial = frozenset(name for name in parts if waits_unknown and catalogue().account[name].now)
    return Account(parts, unknown, partial, measures["active"].value, measures["transactions"].value)
