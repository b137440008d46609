"""Simulated servers and a handwritten machine, scraped at simulated times. promtool evaluates rules and queries."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dashboards import write
from tests.dashboards import machine
from tests.e2e.evaluation import Query, Results, evaluate_series
from tests.e2e.simulated_time import ALWAYS, RULES, Recording, metrics_in_rules, record
from tests.exporter.host.perf_stand_in import StandIn
from tests.exporter.sysmon.simulated import simulated_report
from tests.programs import START

from ase_exporter.catalogue import load_catalogue
from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.metrics import host_families
from ase_exporter.clock import Clock
from ase_exporter.config import Auth, Module
from ase_exporter.config.changes import ChangesConfig
from ase_exporter.config.host import Collectors, HostConfig, Perf
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.perf import PerfCollector
from ase_exporter.metrics.families import Family
from ase_exporter.rules.intervals import adapted
from ase_exporter.sysmon.metrics import SYSMON, families
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report
from ase_exporter.web.exporter_metrics import ExporterMetrics

# Seconds between scrapes, which the rules are adapted to; the rules are evaluated halfway between two.
INTERVAL = 120
WINDOW = 4 * INTERVAL
SCRAPES = 8
END = SCRAPES * INTERVAL
# After this scrape the machine has huge pages.
SMALL_PAGES = 4
# Real seconds between two scrapes of the machine, in which what processes touched is read.
REAL_INTERVAL = 0.1


# The first case study, on the largest server.
LARGEST = "MEMSCALE"


def evaluated(directory: Path, queries: Iterable[Query]) -> Results:
    """The result of each query (expression, second), with the shipped rules over the recordings of all."""
    found = [each.input_series(name, job) for name, job, each in recordings(directory)]
    series = {each["series"]: each for recording in found for each in recording}
    return evaluate_series(
        series.values(), INTERVAL // 2, directory, queries, adapted_rules(directory), INTERVAL
    )


def adapted_rules(directory: Path) -> list[Path]:
    """The shipped rules for these scrapes, written into a folder of the directory."""
    folder = directory / "rules"
    folder.mkdir()
    for path in RULES:
        # A median of two values is one, and need not be waited for.
        text = path.read_text().replace("[1d:5m]) >= 6", "[1d:5m]) >= 2")
        (folder / path.name).write_text(adapted(text, INTERVAL))
    return sorted(folder.iterdir())


def recordings(directory: Path) -> list[tuple[str, str, Recording]]:
    """Instance, job and recording of each server and of the machine, whose files are written into the directory."""
    usual: dict[str, Any] = {
        "seconds": END,
        "interval": INTERVAL,
        "lag": INTERVAL // 2,
        "metrics": _metrics(),
    }
    servers = [(name, "ase", record(**usual, **how)) for name, how in SERVERS.items()]
    return [*servers, ("dbhost1", "host", _machine(directory / "machine"))]


def _metrics() -> frozenset[str]:
    """Names of the metrics that a dashboard or a rule reads."""
    found = re.findall(r"\b(?:ase|dbhost)_[a-z0-9_]+|scrape_samples_scraped", json.dumps(write.DASHBOARDS))
    return metrics_in_rules() | frozenset(found)


def _sampled(now: float) -> Iterator[Family]:
    """What the last sample of sp_sysmon told."""
    yield SYSMON.family("ase_sysmon_runs_total", [(("ok",), 1.0)])
    yield SYSMON.value("ase_sysmon_last_run_success", 1.0)
    yield from families(_report(), ended=now - 60, now=now)


@cache
def _report() -> Report:
    return parse(simulated_report("16.0", 1))


_FEW = {"module": Module(collectors={"spinlock_slots": True})}
# How each is recorded. Of the healthy one all is read, as sa, and sp_sysmon runs; of an old version less can be read.
SERVERS: Mapping[str, Mapping[str, Any]] = {
    LARGEST: {"scenario": "memscale", **_FEW},
    "ORDERS": {
        "scenario": "quiet-oltp",
        "module": Module(collectors=dict.fromkeys(load_catalogue()[0].collectors, True)),
        "auth": Auth(user="sa", password=""),
        "beside": _sampled,
    },
    "ARCHIVE": {"scenario": "quiet-oltp", "version": "15.0.3", **_FEW},
}


def _machine(directory: Path) -> Recording:
    """The page /metrics of an exporter there. directory: for the /proc and /sys of the machine."""
    recording = Recording(1.7e9, INTERVAL // 2, INTERVAL, _metrics())
    machine.before(directory)
    stand_in = StandIn(directory)
    stand_in.play(*machine.counted(SCRAPES, SMALL_PAGES, REAL_INTERVAL))
    collectors = HostCollectors(
        HostConfig(
            procfs=directory / "proc",
            sysfs=directory / "sys",
            smaps_interval=REAL_INTERVAL,
            collectors=Collectors(perf=True),
            perf=Perf(binary=str(stand_in.program), interval=REAL_INTERVAL),
        )
    )
    assert collectors.perf and collectors.process
    # Starts perf.
    list(collectors.collect())
    own = ExporterMetrics()
    now = recording.start
    changes = Journal(ChangesConfig(), None, clock=Clock(lambda: now, lambda: now))
    watcher = HostWatcher(str(directory / "proc"), str(directory / "sys"))
    try:
        for number in range(SCRAPES):
            if number == SMALL_PAGES:
                machine.after(directory)
            _count_more(stand_in, collectors.perf)
            collectors.process.wait()
            now += INTERVAL
            changes.on_snapshot("", replace(watcher.take_snapshot(), at=now, monotonic=now))
            changes._take_pending()
            recording.take(ALWAYS, lambda: [*own.families(), *collectors.collect(), *host_families(changes)])
    finally:
        collectors.close()
        stand_in.close()
    return recording


def _count_more(stand_in: StandIn, perf: PerfCollector) -> None:
    """Let perf count for another interval."""
    with perf.changed:
        counted = perf.counted_seconds
        stand_in.step()
        assert perf.changed.wait_for(lambda: perf.counted_seconds > counted, START)
