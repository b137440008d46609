"""Whole reports of the simulator's three layouts, with figures drawn from a seed."""

import random
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from ase_simulator.sysmon_report.report import write
from ase_simulator.sysmon_report.sample import (
    Bucket,
    CacheSample,
    Controller,
    Descriptors,
    DeviceSample,
    EngineSample,
    Layout,
    PoolSample,
    Sample,
    Thread,
)

LAYOUTS: tuple[Layout, ...] = ("15.0.3", "15.7", "16.0")
_CACHES = ("default data cache", "log cache", "orders cache", "tempdb_cache")
COUNT_NAMES = Path(__file__).with_name("count_names.txt").read_text().split()


@cache
def simulated_report(layout: Layout, seed: int) -> str:
    """The text of one report, with up to ten engines, four caches and four devices."""
    return "\n".join(write(simulated_sample(layout, seed)).lines)


def version(layout: Layout) -> str:
    """The version banner of a layout."""
    return f"Adaptive Server Enterprise/{layout}/EBF 30367 SMP/P/x86_64/Enterprise Linux/"


def simulated_sample(layout: Layout, seed: int) -> Sample:
    """What one report is written from."""
    rng = random.Random(seed)

    def counts(number: int) -> list[int]:
        return [rng.choice((0, rng.randrange(1_000), rng.randrange(10_000_000))) for _ in range(number)]

    pools = ["syb_default_pool", "web_pool"][: rng.choice((1, 2))] if layout != "15.0.3" else ["-"]
    engines = tuple(
        # mypy does not know how many values counts() gives.
        EngineSample(number, rng.choice(pools), *counts(14), (rng.random(), rng.random(), rng.random()))  # type: ignore[call-arg,arg-type]
        for number in range(rng.randint(1, 10))
    )
    threads = tuple(
        Thread(
            engine.number + 2,
            engine.pool,
            f"Engine {engine.number}",
            rng.randrange(30_000),
            rng.randrange(30_000),
            *counts(4),
        )
        for engine in engines
    )
    started = datetime(2024, 3, 1, 12) + timedelta(days=seed)
    return Sample(
        server=f"PROD_{seed}",
        version=version(layout),
        layout=layout,
        started=started,
        ended=started + timedelta(seconds=60),
        interval_s=60,
        elapsed_ms=60_000,
        cleared=datetime(2024, 1, 1),
        engines=engines,
        threads=threads,
        controllers=(Controller("NetController", *counts(4)), Controller("DiskController")),
        caches=tuple(
            CacheSample(  # type: ignore[call-arg]
                name,
                *counts(5),  # type: ignore[arg-type]
                tuple(PoolSample(size, *counts(5)) for size in (2, 16)[: rng.randint(0, 2)]),
                *counts(8),
            )
            for name in _CACHES[: rng.randint(1, 4)]
        ),
        devices=tuple(
            DeviceSample(f"data_{number}", f"/sybase/data_{number}.dat", *counts(3))
            for number in range(rng.randint(1, 4))
        ),
        buckets=(Bucket("LFB memory pool", 64, *counts(3)),),
        descriptors=(Descriptors("Object", *counts(5)), Descriptors("Index", *counts(5))),
        counts=dict(zip(COUNT_NAMES, counts(len(COUNT_NAMES)), strict=True)),
        spinlocks={"Object Manager": (1000, 40), "page": (0, 0), "table": (900, 7)},
    )
