"""The load profile: what a server does in each second and in each transaction, from its counters. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadCounter:
    """One row: a counter, summed over its series. modes: of the label `mode`, if only those count."""

    title: str
    metric: str
    modes: Sequence[str] = ()

    def counts(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels counts."""
        return not self.modes or labels.get("mode") in self.modes


COUNTERS = (
    LoadCounter("transactions", "ase_transactions_total"),
    LoadCounter("CPU seconds", "ase_engine_cpu_seconds_total", ("user", "system")),
    LoadCounter("logical reads", "ase_cache_logical_reads_total"),
    LoadCounter("physical reads", "ase_cache_physical_reads_total"),
    LoadCounter("physical writes", "ase_cache_physical_writes_total"),
    LoadCounter("log appends", "ase_database_log_requests_total"),
    LoadCounter("bytes of log", "ase_ulc_written_bytes_total"),
    LoadCounter("network packets", "ase_network_packets_total"),
    LoadCounter("network bytes", "ase_network_bytes_total"),
    LoadCounter("deadlocks", "ase_deadlocks_total"),
)


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Of one counter; None where it is not known, or there were no transactions."""

    title: str
    per_second: float | None
    per_transaction: float | None


def load_profile(rates: Mapping[str, float]) -> list[LoadRow]:
    """All rows. rates: growth per second by title, without those that are not known."""
    transactions = rates.get(COUNTERS[0].title)
    found = []
    for each in COUNTERS:
        rate = rates.get(each.title)
        per_transaction = rate / transactions if rate is not None and transactions else None
        found.append(LoadRow(each.title, rate, per_transaction))
    return found
