"""Which events perf counts on this CPU: perf_profiles.yaml, chosen by /proc/cpuinfo."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ase_exporter.checks import Strict
from ase_exporter.host.files import list_names, read_text

_FILE = Path(__file__).with_name("perf_profiles.yaml")
_PMU_EVENT = re.compile(r"(\w+)/([^/]*)/(\w*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile(Strict):
    """Raw events of one CPU family; vendor, family and models as /proc/cpuinfo has them."""

    vendor: str
    family: int
    models: tuple[int, ...]
    events: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiles(Strict):
    """The whole file. kernel: names to take from the kernel's own list on a CPU without a profile."""

    common: Mapping[str, str]
    profiles: Mapping[str, Profile]
    kernel: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Events:
    """profile: its name, or `kernel`; expressions: name -> event as perf takes it."""

    profile: str
    expressions: Mapping[str, str]


@cache
def shipped() -> Profiles:
    """The profiles that come with the exporter."""
    # Only for those who count with perf: it brings pydantic along.
    from ase_exporter import yamlfile

    return yamlfile.load(_FILE, Profiles)


def choose(name: str, added: Mapping[str, str], procfs: str, sysfs: str) -> Events:
    """The events of a profile (`auto`: by CPU; `kernel`: of no CPU in particular) and the added ones."""
    known = shipped()
    if name == "auto":
        cpu = parse_cpu(read_text(f"{procfs}/cpuinfo") or "")
        fitting = (n for n, p in known.profiles.items() for m in p.models if cpu == (p.vendor, p.family, m))
        name = next(fitting, "kernel")
    if name == "kernel":
        offered = set(list_names(f"{sysfs}/bus/event_source/devices/cpu/events"))
        raw: Mapping[str, str] = {event: f"cpu/{event}/" for event in known.kernel if event in offered}
    else:
        raw = known.profiles[name].events
    expressions = {**known.common, **raw, **added}
    return Events(name, {event: _named(event, text) for event, text in expressions.items()})


def parse_cpu(cpuinfo: str) -> tuple[str, int, int] | None:
    """Vendor, family and model of the first CPU; None where cpuinfo has none (not x86)."""
    fields = dict(re.findall(r"^(vendor_id|cpu family|model)\s*:\s*(\S+)$", cpuinfo, re.MULTILINE))
    if len(fields) < 3:
        return None
    return fields["vendor_id"], int(fields["cpu family"]), int(fields["model"])


def _named(event: str, expression: str) -> str:
    """A PMU's event with the name that perf shall print: its own commas would break up the line."""
    match = _PMU_EVENT.fullmatch(expression)
    if match is None or "name=" in match[2]:
        return expression
    return f"{match[1]}/{match[2]},name={event}/{match[3]}"
