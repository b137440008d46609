"""Perf collector: CPU events counted by `perf stat` (TLB misses, cycles, memory reads, page faults).

A reason for not counting becomes a label of a metric, never an error.
"""

import time
from collections.abc import Iterator

from ase_exporter.config.host import DEFAULT_PROCESSES, Perf, ProcessGroup
from ase_exporter.host.declared import declared_value, family
from ase_exporter.host.files import read_int
from ase_exporter.host.perf_child import PerfChild, PerfState
from ase_exporter.host.perf_output import PerfProblem, problem
from ase_exporter.host.perf_profiles import choose_profile
from ase_exporter.host.process_finder import ProcessFinder
from ase_exporter.metrics.families import Family


class PerfCollector:
    """Runs `perf stat` in the background and exports its counts."""

    name = "perf"

    def __init__(
        self,
        config: Perf,
        procfs: str,
        sysfs: str,
        processes: tuple[ProcessGroup, ...] = DEFAULT_PROCESSES,
    ) -> None:
        self._finder = ProcessFinder(procfs, processes)
        self._paranoid_file = f"{procfs}/sys/kernel/perf_event_paranoid"
        self._config = config
        self._events = choose_profile(config.profile, config.events, procfs, sysfs)
        self.child = PerfChild(self._command, dict(self._events.expressions), config.interval, self._paranoid)

    def collect(self) -> Iterator[Family]:
        """Yield counts so far and reasons for not counting. The first call starts perf."""
        self.child.start()
        with self.child.state.changed:
            families = [*_event_families(self.child.state), *_child_families(self.child.state)]
        yield from families
        yield family("dbhost_perf_profile_info", [((self._events.profile,), 1)])
        if (paranoid := self._paranoid()) is not None:
            yield declared_value("dbhost_perf_event_paranoid", paranoid)

    def close(self) -> None:
        """Stop perf."""
        self.child.close()

    def _paranoid(self) -> int | None:
        return read_int(self._paranoid_file)

    def _command(self, expressions: list[str]) -> list[str] | PerfProblem:
        scope = ["-a"]
        if self._config.server is not None:
            pids = [
                pid for s in self._finder.find() if s.key.server == self._config.server for pid in s.stats
            ]
            if not pids:
                return problem("no_process")
            scope = ["-p", ",".join(map(str, pids))]
        events = [word for expression in expressions for word in ("-e", expression)]
        interval = str(round(self._config.interval * 1000))
        return [self._config.binary, "stat", *scope, "-x,", "-I", interval, *events, "--", "cat"]


def _event_families(state: PerfState) -> Iterator[Family]:
    total = family("dbhost_perf_events_total")
    running = family("dbhost_perf_running_ratio")
    counting = family("dbhost_perf_event_counting")
    problems = family("dbhost_perf_event_problem")
    for name, tally in state.events.items():
        counting.add(tally.counting, name)
        if tally.counting or tally.total:
            total.add(tally.total, name)
            running.add(tally.running, name)
        if tally.problem is not None:
            problems.add(1, name, tally.problem.hint, tally.problem.reason)
    yield from (total, running, counting, problems)


def _child_families(state: PerfState) -> Iterator[Family]:
    up = state.last_interval is not None and state.problem is None
    yield declared_value("dbhost_perf_up", up)
    problems = [] if state.problem is None else [((state.problem.hint, state.problem.reason), 1.0)]
    yield family("dbhost_perf_problem", problems)
    yield declared_value("dbhost_perf_starts_total", state.starts)
    yield declared_value("dbhost_perf_counted_seconds_total", state.counted_seconds)
    if state.last_interval is not None:
        yield declared_value("dbhost_perf_interval_age_seconds", time.monotonic() - state.last_interval)
