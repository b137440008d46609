"""All host collectors as one object: each one's failure costs only itself, and says so."""

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Protocol

from ase_exporter.families import Family
from ase_exporter.host.config import HostConfig, Required
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.hugepages import HugePagesCollector
from ase_exporter.host.numa import NumaCollector
from ase_exporter.host.perf import PerfCollector
from ase_exporter.host.process import ProcessCollector
from ase_exporter.host.required import read_host, verdict_families
from ase_exporter.host.sizing import requirement
from ase_exporter.host.thp import ThpCollector
from ase_exporter.host.tlb import TlbCollector

log = logging.getLogger(__name__)


class Collector(Protocol):
    """One subsystem. collect raises NotOfferedError where the kernel has nothing to read."""

    name: str

    def collect(self) -> Iterable[Family]: ...


class HostCollectors:
    """The collectors that the configuration switches on."""

    def __init__(self, config: HostConfig) -> None:
        self._collectors = _build(config)
        self._complaints: dict[str, str] = {}

    def collect(self) -> Iterator[Family]:
        """Every collector's families, then how each fared. Never raises."""
        success = Family(
            "dbhost_collector_success",
            "gauge",
            "1 if the collector read what this host offers, 0 if it failed.",
            ("collector",),
        )
        duration = Family(
            "dbhost_collector_duration_seconds", "gauge", "Time the collector took.", ("collector",)
        )
        unavailable = Family(
            "dbhost_collector_unavailable",
            "gauge",
            "1 if this host does not offer what the collector reads; the reason says which file.",
            ("collector", "reason"),
        )
        for collector in self._collectors:
            start = time.perf_counter()
            complaint = ""
            families: list[Family] = []
            good = 1
            try:
                for family in collector.collect():  # what came before a failure is kept
                    families.append(family)  # noqa: PERF402
            except NotOfferedError as error:
                unavailable.add(1, collector.name, str(error))
            except Exception as error:  # a collector must never cost the scrape
                good = 0
                complaint = f"{type(error).__name__}: {error}"
            success.add(good, collector.name)
            self._say(collector.name, complaint)
            duration.add(time.perf_counter() - start, collector.name)
            yield from (family for family in families if family.samples)
        yield success
        yield duration
        if unavailable.samples:
            yield unavailable

    def wait(self) -> None:
        """Wait for what is read beside the scrapes (smaps), so that the next collect shows it."""
        for collector in self._collectors:
            if isinstance(collector, ProcessCollector):
                collector.wait()

    def close(self) -> None:
        """End what collectors started. May be called twice."""
        for collector in self._collectors:
            if isinstance(collector, PerfCollector):
                collector.close()

    def _say(self, name: str, complaint: str) -> None:
        """Log a failure once, not at every scrape."""
        if complaint and self._complaints.get(name) != complaint:
            log.warning("host collector %s: %s", name, complaint)
        self._complaints[name] = complaint


class _SizingCollector:
    """The verdict on the huge pages, for the requirement that is configured."""

    name = "sizing"

    def __init__(self, config: HostConfig, required: Required, process: ProcessCollector | None) -> None:
        self._procfs, self._sysfs = str(config.procfs), str(config.sysfs)
        self._process = process
        self._need = requirement(**asdict(required))

    def collect(self) -> Iterator[Family]:
        servers = self._process.servers if self._process else ()
        yield from verdict_families(self._need, read_host(self._procfs, self._sysfs, servers))


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
