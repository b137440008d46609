"""Runs all host collectors; a failure in one is logged and reported without affecting the others."""

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Protocol

from ase_exporter.config.host import HostConfig, Required
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.hugepages import HugePagesCollector
from ase_exporter.host.numa import NumaCollector
from ase_exporter.host.perf import PerfCollector
from ase_exporter.host.process import ProcessCollector
from ase_exporter.host.sizing import requirement
from ase_exporter.host.thp import ThpCollector
from ase_exporter.host.tlb import TlbCollector
from ase_exporter.host.verdict_metrics import read_host, verdict_families
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.outcomes import CollectorOutcome, outcome_families

log = logging.getLogger(__name__)


class Collector(Protocol):
    """Collector of one subsystem. collect raises NotOfferedError where the kernel lacks what it reads."""

    name: str

    def collect(self) -> Iterable[Family]: ...


class HostCollectors:
    """The collectors that the configuration enables."""

    def __init__(self, config: HostConfig) -> None:
        self._collectors = _build(config)
        self._last_failures: dict[str, str] = {}

    def collect(self) -> Iterator[Family]:
        """Yield every collector's families, then the outcome of each collector. Never raises."""
        outcomes: dict[str, CollectorOutcome] = {}
        unavailable: dict[str, str] = {}
        for collector in self._collectors:
            start = time.perf_counter()
            failure = ""
            families: list[Family] = []
            try:
                for family in collector.collect():  # families yielded before a failure are kept
                    families.append(family)  # noqa: PERF402
            except NotOfferedError as error:
                unavailable[collector.name] = str(error)
            except Exception as error:  # a failed collector must not fail the scrape
                failure = f"{type(error).__name__}: {error}"
            outcomes[collector.name] = CollectorOutcome(time.perf_counter() - start, failure)
            self._log_change(collector.name, failure)
            yield from (family for family in families if family.samples)
        yield from outcome_families("dbhost", outcomes)
        if unavailable:
            yield OWN.family(
                "dbhost_collector_unavailable", [(each, 1.0) for each in sorted(unavailable.items())]
            )

    def wait(self) -> None:
        """Wait for background reads (smaps), so that the next collect includes them."""
        for collector in self._collectors:
            if isinstance(collector, ProcessCollector):
                collector.wait()

    def close(self) -> None:
        """Stop child processes of collectors. May be called twice."""
        for collector in self._collectors:
            if isinstance(collector, PerfCollector):
                collector.close()

    def _log_change(self, name: str, failure: str) -> None:
        """Log a failure when it first occurs or changes, not at every scrape."""
        if failure and self._last_failures.get(name) != failure:
            log.warning("host collector %s: %s", name, failure)
        self._last_failures[name] = failure


class _SizingCollector:
    """Compares the host with the configured huge-page requirement."""

    name = "sizing"

    def __init__(self, config: HostConfig, required: Required, process: ProcessCollector | None) -> None:
        self._procfs, self._sysfs = str(config.procfs), str(config.sysfs)
        self._process = process
        self._requirement = requirement(**asdict(required))

    def collect(self) -> Iterator[Family]:
        servers = self._process.servers if self._process else ()
        yield from verdict_families(self._requirement, read_host(self._procfs, self._sysfs, servers))


def _build(config: HostConfig) -> list[Collector]:
    procfs, sysfs = str(config.procfs), str(config.sysfs)
    on = config.collectors
    process = ProcessCollector(procfs, config.processes, config.smaps_interval) if on.process else None
    collectors: list[Collector | None] = [
        HugePagesCollector(procfs, sysfs) if on.hugepages else None,
        ThpCollector(procfs, sysfs) if on.thp else None,
        NumaCollector(procfs, sysfs) if on.numa else None,
        TlbCollector(procfs) if on.tlb else None,
        process,
        PerfCollector(config.perf, procfs, sysfs, config.processes) if on.perf else None,
        _SizingCollector(config, config.required, process) if config.required else None,
    ]
    return [collector for collector in collectors if collector is not None]
