"""Which collector reads a metric, and why one was not read, in words that name the option or role to change."""

from collections.abc import Mapping
from functools import cache

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.model import Collector

# Reasons of ase_exporter_collector_available in words.
REASONS = {
    "no_role": "the login lacks mon_role",
    "switched_off": "a monitoring option is off",
    "table_missing": "the server lacks the table",
    "version": "this version of ASE lacks it",
    "columns_missing": "the server lacks a column of it",
}


@cache
def collectors() -> Mapping[str, tuple[str, Collector]]:
    """Name and definition of the collector that reads a metric, of the shipped catalogue."""
    shipped, _ = load_catalogue()
    return {
        metric: (name, collector)
        for name, collector in shipped.collectors.items()
        for metric in collector.metrics
    }


def collector_of(metric: str) -> str:
    """The collector that reads a metric; '' if none does."""
    return collectors()[metric][0] if metric in collectors() else ""


def why(metric: str, reason: str, options: Mapping[str, float]) -> str:
    """Why a metric was not read. reason: as of ase_exporter_collector_available; options: run values by name."""
    if metric not in collectors():
        return reason
    name, collector = collectors()[metric]
    off = [option for option in collector.options if options.get(option) == 0]
    if off:
        return f"{' and '.join(off)} {'is' if len(off) == 1 else 'are'} off"
    if reason == "switched_off" and collector.options:
        return f"{' or '.join(collector.options)} is off"
    return f"{REASONS.get(reason, reason)} (collector {name})"
