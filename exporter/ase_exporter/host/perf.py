"""Perf collector: CPU events counted by `perf stat` (TLB misses, cycles, memory reads, page faults).

A reason for not counting becomes a label of a metric, never an error.
"""

import time
from collections.abc import Iterator

from ase_exporter.config.host import DEFAULT_PROCESSES, Perf, ProcessGroup
from ase_exporter.host.files import read_int
from ase_exporter.host.perf_child import PerfChild, PerfState
from ase_exporter.host.perf_output import HINTS, PerfProblem
from ase_exporter.host.perf_profiles import choose
from ase_exporter.host.process_finder import ProcessFinder
from ase_exporter.metrics.families import Family, single


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
        self._events = choose(config.profile, config.events, procfs, sysfs)
        self.child = PerfChild(self._command, dict(self._events.expressions), config.interval, self._paranoid)

    def collect(self) -> Iterator[Family]:
        """Yield counts so far and reasons for not counting. The first call starts perf."""
        self.child.start()
        with self.child.state.changed:
            families = [*_event_families(self.child.state), *_child_families(self.child.state)]
        yield from families
        yield Family(
            "dbhost_perf_profile_info",
            "gauge",
            "Profile of raw events that is counted; always 1.",
            ("profile",),
            [((self._events.profile,), 1)],
        )
        if (paranoid := self._paranoid()) is not None:
            yield single(
                "dbhost_perf_event_paranoid",
                "gauge",
                "Restriction of perf for users without CAP_PERFMON (kernel.perf_event_paranoid).",
                paranoid,
            )

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
                return PerfProblem("no_process", HINTS["no_process"])
            scope = ["-p", ",".join(map(str, pids))]
        events = [word for expression in expressions for word in ("-e", expression)]
        interval = str(round(self._config.interval * 1000))
        return [self._config.binary, "stat", *scope, "-x,", "-I", interval, *events, "--", "cat"]


def _event_families(state: PerfState) -> Iterator[Family]:
    total = Family(
        "dbhost_perf_events_total",
        "counter",
        "Occurrences of a CPU or kernel event, scaled up where it was multiplexed (perf stat).",
        ("event",),
    )
    running = Family(
        "dbhost_perf_running_ratio",
        "gauge",
        "Share of the last interval in which the event had a hardware counter; below 1 its count is an estimate.",
        ("event",),
    )
    counting = Family(
        "dbhost_perf_event_counting", "gauge", "1 if the event was counted in the last interval.", ("event",)
    )
    problem = Family(
        "dbhost_perf_event_problem",
        "gauge",
        "1 for an event that is not counted, with the reason and a hint.",
        ("event", "hint", "reason"),
    )
    for name, tally in state.events.items():
        counting.add(tally.counting, name)
        if tally.counting or tally.total:
            total.add(tally.total, name)
            running.add(tally.running, name)
        if tally.problem is not None:
            problem.add(1, name, tally.problem.hint, tally.problem.reason)
    yield from (total, running, counting, problem)


def _child_families(state: PerfState) -> Iterator[Family]:
    up = state.last_interval is not None and state.problem is None
    yield single("dbhost_perf_up", "gauge", "1 while perf stat runs and counts.", up)
    problem = Family(
        "dbhost_perf_problem",
        "gauge",
        "1 if perf stat does not run, with the reason and a hint.",
        ("hint", "reason"),
    )
    if state.problem is not None:
        problem.add(1, state.problem.hint, state.problem.reason)
    yield problem
    yield single("dbhost_perf_starts_total", "counter", "Times perf stat was started.", state.starts)
    yield single(
        "dbhost_perf_counted_seconds_total",
        "counter",
        "Total length of the intervals in which dbhost_perf_events_total was counted.",
        state.counted_seconds,
    )
    if state.last_interval is not None:
        yield single(
            "dbhost_perf_interval_age_seconds",
            "gauge",
            "Time since perf last reported an interval.",
            time.monotonic() - state.last_interval,
        )
