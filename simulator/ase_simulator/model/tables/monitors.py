"""sysmonitors: the counters that sp_sysmon reads, since they were last cleared."""

from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import Any

from ase_simulator.model.counters import ENGINE_KINDS
from ase_simulator.model.operation import CACHE_COLUMNS
from ase_simulator.model.tables.server import TICKS_PER_SECOND
from ase_simulator.model.world import World
from ase_simulator.schema.profiles import parse_level
from ase_simulator.yaml_text import load_yaml

Value = tuple[str, str, float]
Key = tuple[str, str, int]

_SPINLOCK_GROUPS = (("spinlock_p", "grabs"), ("spinlock_w", "waits"), ("spinlock_s", "spins"))
_FIELDS: dict[str, Any] = load_yaml(files(__package__).joinpath("monitors.yaml").read_text("utf-8"))


def _spinlocks(world: World) -> Iterator[Value]:
    counters = world.counters
    suffix = "" if parse_level(world.options.version) >= parse_level("15.7") else "_0"
    for group, kind in _SPINLOCK_GROUPS:
        for name, value in zip(counters.names, getattr(counters, kind).tolist(), strict=True):
            yield f"{group}{suffix}", name, value


def _engines(world: World) -> Iterator[Value]:
    engines = world.counters.engines
    for number in world.online:
        ticks = {kind: float(engines[kind][number]) * TICKS_PER_SECOND for kind in ENGINE_KINDS}
        for kind, value in ticks.items():
            yield f"engine_{number}", f"{kind}_ticks", value
        yield f"engine_{number}", "clock_ticks", sum(ticks.values())
        yield f"engine_{number}", "cpu_busy", ticks["user"] + ticks["system"]
        switches = world.counters.flows["switches"] / len(world.online)
        yield f"engine_{number}", "context_switches", switches


def _caches(world: World) -> Iterator[Value]:
    for cache in world.caches.all():
        count = dict(zip(CACHE_COLUMNS, world.counters.caches[cache.name].tolist(), strict=True))
        for column, value in count.items():
            yield f"buffer_{cache.id}", _FIELDS["caches"][column], value
        yield f"buffer_{cache.id}", "bufsearch_finds", count["searches"] - count["physical_reads"]


def _flows(world: World) -> Iterator[Value]:
    for group, fields in _FIELDS["flows"].items():
        for field, parts in fields.items():
            yield group, field, sum(world.counters.flows[part] for part in parts.split())


def _kernel(world: World) -> Iterator[Value]:
    idle = sum(float(world.counters.engines[kind].sum()) for kind in ("io", "idle"))
    yield "kernel", "clock_ticks", (world.seconds - world.started) * TICKS_PER_SECOND
    yield "kernel", "processes_affinitied", 0.0
    yield "kernel", "context_switches", world.counters.flows["switches"]
    yield "kernel", "engine_sleeps", idle * 20
    yield "kernel", "blocking_calls", (world.seconds - world.started) * 0.2


def monitor_values(world: World) -> dict[Key, float]:
    """Every monitor counter since the server's start: (group, field, number among equals) -> value."""
    parts: tuple[Callable[[World], Iterable[Value]], ...] = (_kernel, _engines, _flows, _caches, _spinlocks)
    seen: dict[tuple[str, str], int] = {}
    values: dict[Key, float] = {}
    for part in parts:
        for group, field, value in part(world):
            number = seen.get((group, field), 0)
            seen[group, field] = number + 1
            values[group, field, number] = value
    return values


def sys_monitors(world: World) -> Iterator[dict[str, Any]]:
    """sysmonitors: field_id counts within a group; values are signed 32 bits, negative after 2^31."""
    previous, field_id = "", 0
    for key, value in monitor_values(world).items():
        group, field, _ = key
        field_id = field_id + 1 if group == previous else 0
        previous = group
        whole = int(value - world.at_clear.get(key, 0.0))
        yield {
            "group_name": group,
            "field_id": field_id,
            "field_name": field,
            "value": (whole + 2**31) % 2**32 - 2**31,
        }
