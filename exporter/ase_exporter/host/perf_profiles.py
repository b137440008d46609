"""Selects the events that perf counts: a profile of config/perf_profiles.yaml that matches /proc/cpuinfo."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ase_exporter.config.perf_profiles import shipped
from ase_exporter.host.files import list_names, read_kernel_text

_PMU_EVENT = re.compile(r"(\w+)/([^/]*)/(\w*)")


@dataclass(frozen=True, slots=True)
class PerfEvents:
    """Events to count. profile: its name, or `kernel`; expressions: event name -> perf expression."""

    profile: str
    expressions: Mapping[str, str]


def choose_profile(name: str, added: Mapping[str, str], procfs: str, sysfs: str) -> PerfEvents:
    """Return the events of a profile (`auto`: by CPU; `kernel`: generic events) and the added ones."""
    known = shipped()
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
    return PerfEvents(name, {event: _named(event, text) for event, text in expressions.items()})


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
