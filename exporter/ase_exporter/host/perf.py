"""Perf collector: CPU events counted by `perf stat` (TLB misses, cycles, memory reads, page faults).

A reason for not counting becomes a label of a metric, never an error.
"""

import re
import time
from collections.abc import Iterator, Mapping

from ase_exporter.config.host import Perf, perf_profiles
from ase_exporter.host.declared import family, of_group
from ase_exporter.host.files import list_names, read_int, read_kernel_text
from ase_exporter.host.perf_child import PerfChild, PerfState
from ase_exporter.metrics.families import Family

_PMU_EVENT = re.compile(r"(\w+)/([^/]*)/(\w*)")


class PerfCollector:
    """Runs `perf stat` in the background and exports its counts."""

    def __init__(self, config: Perf, procfs: str, sysfs: str) -> None:
        self._paranoid_file = f"{procfs}/sys/kernel/perf_event_paranoid"
        self._config = config
        self._profile, events = choose_profile(config.profile, config.events, procfs, sysfs)
        self.child = PerfChild(self._command, events, config.interval, self._paranoid)

    def collect(self) -> Iterator[Family]:
        """Yield counts so far and reasons for not counting. The first call starts perf."""
        self.child.start()
        with self.child.state.changed:
            families = list(_families(self.child.state))
        yield from families
        yield family("dbhost_perf_profile_info", [((self._profile,), 1)])
        yield from of_group("perf", {(): {"paranoid": self._paranoid()}})

    def close(self) -> None:
        """Stop perf."""
        self.child.close()

    def _paranoid(self) -> int | None:
        return read_int(self._paranoid_file)

    def _command(self, expressions: list[str]) -> list[str]:
        events = [word for expression in expressions for word in ("-e", expression)]
        interval = str(round(self._config.interval * 1000))
        return [self._config.binary, "stat", "-a", "-x,", "-I", interval, *events, "--", "cat"]


def _families(state: PerfState) -> Iterator[Family]:
    events: dict[tuple[str, ...], dict[str, float]] = {}
    for name, tally in state.events.items():
        counted = {"total": tally.total, "running": tally.running}
        events[name,] = {
            "counting": tally.counting,
            **(counted if tally.counting or tally.total else {}),
        }
    yield from of_group("perf_event", events)
    problems = [(name, tally.problem) for name, tally in state.events.items() if tally.problem]
    yield family("dbhost_perf_event_problem", [((name, why.hint, why.reason), 1) for name, why in problems])
    if state.problem:
        yield family("dbhost_perf_problem", [((state.problem.hint, state.problem.reason), 1)])
    last = state.last_interval
    numbers = {
        "up": last is not None and state.problem is None,
        "starts": state.starts,
        "counted": state.counted_seconds,
        "age": None if last is None else time.monotonic() - last,
    }
    yield from of_group("perf", {(): numbers})


def choose_profile(
    name: str, added: Mapping[str, str], procfs: str, sysfs: str
) -> tuple[str, dict[str, str]]:
    """The profile (`auto`: by CPU; `kernel`: generic events), and perf's expressions of its and the added events."""
    known = perf_profiles()
    if name == "auto":
        cpu = parse_cpu(read_kernel_text(f"{procfs}/cpuinfo") or "")
        matching = (n for n, p in known.profiles.items() for m in p.models if cpu == (p.vendor, p.family, m))
        name = next(matching, "kernel")
    if name == "kernel":
        offered = set(list_names(f"{sysfs}/bus/event_source/devices/cpu/events"))
        raw: Mapping[str, str] = {event: f"cpu/{event}/" for event in known.kernel if event in offered}
    else:
        raw = known.profiles[name].events
    expressions = {**known.common, **raw, **added}
    return name, {event: _named(event, text) for event, text in expressions.items()}


def parse_cpu(cpuinfo: str) -> tuple[str, int, int] | None:
    """Return vendor, family and model of the first CPU; None if cpuinfo lacks them (not x86)."""
    fields = dict(re.findall(r"^(vendor_id|cpu family|model)\s*:\s*(\S+)$", cpuinfo, re.MULTILINE))
    if len(fields) < 3:
        return None
    return fields["vendor_id"], int(fields["cpu family"]), int(fields["model"])


def _named(event: str, expression: str) -> str:
    """Add `name=` to a PMU event: without it perf prints the expression, whose commas split the line."""
    match = _PMU_EVENT.fullmatch(expression)
    if match is None or "name=" in match[2]:
        return expression
    return f"{match[1]}/{match[2]},name={event}/{match[3]}"
