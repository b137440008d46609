"""Runs all host collectors; a failure in one is logged and reported without affecting the others."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ase_exporter.config.host import HostConfig
from ase_exporter.host import kernel
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.perf import PerfCollector
from ase_exporter.host.process import ProcessCollector
from ase_exporter.host.process_totals import ProcessTotals
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.outcomes import CollectorOutcome, outcome_families

log = logging.getLogger(__name__)


class HostCollectors:
    """The collectors that the configuration enables. process, perf: None unless they are enabled.

    totals: of processes, which outlive a reload.
    """

    def __init__(self, config: HostConfig, totals: ProcessTotals | None = None) -> None:
        procfs, sysfs = str(config.procfs), str(config.sysfs)
        on = config.collectors
        self.process = (
            ProcessCollector(procfs, config.processes, config.smaps_interval, totals) if on.process else None
        )
        self.perf = PerfCollector(config.perf, procfs, sysfs) if on.perf else None
        # Each raises NotOfferedError where the kernel lacks what it reads.
        self._collectors: dict[str, Callable[[], Iterable[Family]]] = {
            name: partial(collect, procfs, sysfs)
            for name, collect in kernel.COLLECTORS.items()
            if getattr(on, name)
        }
        if self.process:
            self._collectors["process"] = self.process.collect
        if self.perf:
            self._collectors["perf"] = self.perf.collect
        self._last_failures: dict[str, str] = {}

    def collect(self) -> Iterator[Family]:
        """Yield every collector's families, then the outcome of each collector. Never raises."""
        outcomes: dict[str, CollectorOutcome] = {}
        unavailable: dict[str, str] = {}
        for name, collect in self._collectors.items():
            start = time.perf_counter()
            failure = ""
            families: list[Family] = []
            try:
                for family in collect():  # families yielded before a failure are kept
                    families.append(family)  # noqa: PERF402
            except NotOfferedError as error:
                unavailable[name] = str(error)
            except Exception as error:  # a failed collector must not fail the scrape
                failure = f"{type(error).__name__}: {error}"
            outcomes[name] = CollectorOutcome(time.perf_counter() - start, failure)
            # When it first occurs or changes, not at every scrape.
            if failure and self._last_failures.get(name) != failure:
                log.warning("host collector %s: %s", name, failure)
            self._last_failures[name] = failure
            yield from (family for family in families if family.samples)
        yield from outcome_families("dbhost", outcomes)
        if unavailable:
            yield OWN.family(
                "dbhost_collector_unavailable", [(each, 1.0) for each in sorted(unavailable.items())]
            )

    def close(self) -> None:
        """Stop child processes of collectors. May be called twice."""
        if self.perf:
            self.perf.close()
