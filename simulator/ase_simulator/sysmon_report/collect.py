"""Builds a sample from two snapshots of a server: maps counters to the report's figures.

Figures that the model does not count are 0.
"""

import re
from datetime import datetime
from importlib.resources import files
from typing import Any

from ase_simulator.model.counters import ENGINE_KINDS
from ase_simulator.sysmon_report import snapshot
from ase_simulator.sysmon_report.sample import (
    CacheSample,
    Controller,
    Descriptors,
    DeviceSample,
    EngineSample,
    Layout,
    Loads,
    PoolSample,
    Sample,
    Thread,
)
from ase_simulator.sysmon_report.snapshot import Delta, Growth
from ase_simulator.yaml_text import load_yaml

_MAPS: dict[str, Any] = load_yaml(files(__package__).joinpath("collect.yaml").read_text("utf-8"))
_ENGINE_POOL = "syb_default_pool"
_RUN_QUEUE = 4
_OF_THREADS = (
    "UserTime", "SystemTime", "VoluntaryCtxtSwitches", "NonVoluntaryCtxtSwitches", "MinorFaults", "MajorFaults",
)  # fmt: skip
# What is counted for the server -> group and name of the counter; each engine gets an equal part.
_OF_ALL_ENGINES = {
    "async_ios": ("diskio", "total_dios_completed"),
    "received": ("network", "total_packets_recv"),
    "bytes_received": ("network", "total_bytes_recv"),
    "sent": ("network", "total_packets_sent"),
    "bytes_sent": ("network", "total_bytes_sent"),
}


def layout_of(version: str) -> Layout:
    """The layout that a version prints: '16.0 SP04' -> 16.0."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    level = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    return "15.0.3" if level < (15, 7) else "15.7" if level < (16, 0) else "16.0"


def collect(
    growth: Growth, *, server: str, version: str, banner: str, interval_s: int, cleared: datetime | None
) -> Sample:
    """What happened between two snapshots. version: profile key; cleared: None if this sample cleared the counters."""
    layout = layout_of(version)
    threads = _threads(growth)
    return Sample(
        server=server,
        version=banner,
        layout=layout,
        started=growth.start.at.replace(microsecond=0),
        ended=growth.end.at.replace(microsecond=0),
        interval_s=interval_s,
        elapsed_ms=growth.elapsed_ms,
        cleared=cleared.replace(microsecond=0) if cleared else None,
        engines=_engines(growth, threads),
        threads=threads,
        controllers=_controllers(growth),
        caches=_caches(growth),
        devices=_devices(growth),
        descriptors=_descriptors(growth, layout),
        counts=_counts(growth),
        spinlocks={row: _spinlock(growth, name) for row, name in _MAPS["spinlocks"].items()},
    )


def _spinlock(growth: Growth, name: str) -> tuple[int, int]:
    """Grabs and waits of all spinlocks of a name; the groups had a suffix before 15.7."""
    for suffix in ("", "_0"):
        grabs = growth.monitor(f"spinlock_p{suffix}", name)
        if grabs:
            return grabs, growth.monitor(f"spinlock_w{suffix}", name)
    return 0, 0


def _threads(growth: Growth) -> tuple[Thread, ...]:
    names = {snapshot.number(row["ThreadID"]): str(row["Name"]) for row in growth.end.tables["monTask"]}
    engine = set(growth.groups("engine_"))
    threads = []
    for row in growth.rows("monThread", "ThreadID"):
        number, pool = row.now("ThreadID"), row.text("ThreadPoolName")
        of_engine = pool == _ENGINE_POOL and number in engine
        name = f"Engine {number}" if of_engine else names.get(number, "Blocking")
        threads.append(Thread(number, pool, name, *(row[column] for column in _OF_THREADS)))
    return tuple(threads)


def _engines(growth: Growth, threads: tuple[Thread, ...]) -> tuple[EngineSample, ...]:
    numbers = growth.groups("engine_")
    by_name = {thread.name: thread for thread in threads}
    loads = _loads(growth)
    shared = {name: growth.monitor(*place) for name, place in _OF_ALL_ENGINES.items()}
    engines = []
    for position, number in enumerate(numbers):
        group = f"engine_{number}"
        thread = by_name.get(f"Engine {number}")
        engines.append(
            EngineSample(
                number=number,
                pool=thread.pool if thread else _ENGINE_POOL,
                full_sleeps=thread.voluntary if thread else 0,
                switches=growth.monitor(group, "context_switches"),
                loads=loads.get(number, (0.0, 0.0, 0.0)),
                **{kind: growth.monitor(group, f"{kind}_ticks") for kind in ENGINE_KINDS},
                **{name: _part(total, position, len(numbers)) for name, total in shared.items()},
            )
        )
    return tuple(engines)


def _part(total: int, position: int, parts: int) -> int:
    """Divides a count into equal parts that add up to it."""
    return total * (position + 1) // parts - total * position // parts


def _loads(growth: Growth) -> dict[int, Loads]:
    loads: dict[int, Loads] = {}
    for row in growth.end.tables["monSysLoad"]:
        if row["StatisticID"] == _RUN_QUEUE:
            one, five, fifteen = (float(str(row[f"Avg_{minutes}min"])) for minutes in (1, 5, 15))
            loads[int(str(row["EngineNumber"]))] = (one, five, fifteen)
    return loads


def _controllers(growth: Growth) -> tuple[Controller, ...]:
    """One entry per type, its controllers together."""
    found: dict[str, list[Delta]] = {}
    for row in growth.rows("monIOController", "ControllerID"):
        found.setdefault(row.text("Type"), []).append(row)
    return tuple(
        Controller(
            name,
            polls=sum(row["BlockingPolls"] + row["NonBlockingPolls"] for row in rows),
            returning=sum(row["EventPolls"] for row in rows),
            returning_max=sum(row["FullPolls"] for row in rows),
            events=sum(row["Events"] for row in rows),
        )
        for name, rows in sorted(found.items())
    )


def _caches(growth: Growth) -> tuple[CacheSample, ...]:
    pools: dict[str, list[PoolSample]] = {}
    for row in growth.rows("monCachePool", "CacheName", "IOBufferSize"):
        read, kb = row["PagesRead"], row.now("IOBufferSize") // 1024
        pools.setdefault(row.text("CacheName"), []).append(
            PoolSample(kb, grabs=row["PhysicalReads"] + row["APFReads"], pages_cached=read, pages_used=read)
        )
    caches = []
    for row in growth.rows("monDataCache", "CacheName"):
        name = row.text("CacheName")
        grabs, waits = _spinlock(growth, name)
        searches, misses = row["CacheSearches"], row["PhysicalReads"] + row["APFReads"]
        own = tuple(sorted(pools.get(name, []), key=lambda pool: pool.io_kb))
        caches.append(
            CacheSample(
                name,
                spin_grabs=grabs,
                spin_waits=waits,
                hits=max(searches - misses, 0),
                misses=misses,
                pools=own,
                cached=searches,
                large_performed=sum(pool.grabs for pool in own[1:]),
            )
        )
    return tuple(sorted(caches, key=lambda cache: cache.name))


def _devices(growth: Growth) -> tuple[DeviceSample, ...]:
    return tuple(
        DeviceSample(
            row.text("LogicalName"), row.text("PhysicalName"), row["APFReads"], row["Reads"], row["Writes"]
        )
        for row in growth.rows("monDeviceIO", "LogicalName")
    )


def _descriptors(growth: Growth, layout: Layout) -> tuple[Descriptors, ...]:
    """Open descriptors; partitions are shown from 15.7 on."""
    usage = {row.text("Name"): row for row in growth.rows("monResourceUsage", "Name")}
    found = []
    for kind, name in _MAPS["descriptors"].items():
        row = usage.get(name, Delta({}, {}))
        if kind != "Partition" or layout != "15.0.3":
            found.append(
                Descriptors(
                    kind, row.now("NumActive"), row.now("MaxUsed"), row.now("NumFree"), row["ReuseCount"]
                )
            )
    return tuple(found)


def _counts(growth: Growth) -> dict[str, int]:
    """Single counters, as collect.yaml says."""
    known: dict[str, Any] = {
        **{name: growth.monitor(*place.split()) for name, place in _MAPS["monitors"].items()},
        "procedures": growth.single("monProcedureCache"),
        "statements": growth.single("monStatementCache"),
    }
    counts = {
        name: int(eval(text, {"min": min, "max": max}, known)) for name, text in _MAPS["counts"].items()
    }
    for row in growth.rows("monSysWaits", "WaitEventID"):
        cause = _MAPS["switches"].get(row.now("WaitEventID"))
        if cause:
            counts[cause] = counts.get(cause, 0) + row["Waits"]
    return counts
