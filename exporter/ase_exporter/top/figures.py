"""The figures of one interval that tables and lines show, beside those of the diagnosis.

Ratios are 0-1, rates per second, sizes bytes. Rates of most counters are of up to `samples.WINDOW` seconds. What the
sample lacks is None or an empty table, never 0. Over the instances of a cluster, parts are summed before they are
divided.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace

from ase_exporter.diagnosis.catalogue import MeasureDefinition, catalogue
from ase_exporter.diagnosis.diagnose import Diagnosis
from ase_exporter.diagnosis.measures import Evaluation
from ase_exporter.readings.samples import Sample
from ase_exporter.scraping.budget import SESSION_CPU
from ase_exporter.top.tables import tables

DATA_CACHE = "data_cache"


class Row(SimpleNamespace):
    """A row of a table: its labels, and its figures, which are None where they are not known."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One server. seconds: the window of CPU, spins, transactions and waits; 0 while that is too short.

    spinning: share of all engine time. own_cpu: share of one engine that the session of top used.
    The tables are those of tables.yaml.
    """

    seconds: float
    cpu_busy: float | None
    spinning: float | None
    own_cpu: float | None
    engines: tuple[Row, ...]
    spinlocks: tuple[Row, ...]
    caches: tuple[Row, ...]
    waits: tuple[Row, ...]
    devices: tuple[Row, ...]
    space: tuple[Row, ...]

    @property
    def hottest(self) -> Row | None:
        """The spinlock that burns most CPU; None if none spins."""
        return self.spinlocks[0] if self.spinlocks and self.spinlocks[0].spins > 0 else None


def figures(sample: Sample, diagnosis: Diagnosis) -> Figures:
    """All figures of a sample and its diagnosis."""
    values = {name: each.value for name, each in diagnosis.measures.items()}
    own = [rate for _, rate in sample.rates(SESSION_CPU)]
    return Figures(
        seconds=sample.window("ase_engine_cpu_seconds_total"),
        cpu_busy=values["busy_share"],
        spinning=values["spinning_share"],
        own_cpu=math.fsum(own) if own else None,
        engines=tuple(sorted(_rows("engines", sample), key=_number)) if values["engine_time"] else (),
        spinlocks=_spinlocks(sample, diagnosis),
        caches=_caches(sample),
        waits=_waits(sample),
        devices=tuple(_rows("devices", sample)),
        space=_space(sample),
    )


@cache
def _measures(table: str) -> Mapping[str, MeasureDefinition]:
    definition, known = tables()[table], catalogue().measures
    labels = tuple(definition.rows.values())
    return {
        name: replace(known[figure.measure] if figure.measure else figure, by=figure.by or labels)
        for name, figure in definition.figures.items()
    }


def _rows(table: str, sample: Sample) -> list[Row]:
    """The rows of a table, with what its file says of them."""
    definition, measures = tables()[table], _measures(table)
    evaluation = Evaluation(sample)
    found = {name: evaluation.rows_of(measure) for name, measure in measures.items()}
    rows = []
    for key in next(iter(found.values())):
        row = Row(**dict(zip(definition.rows, key, strict=True)), **dict.fromkeys(definition.also))
        for name, values in found.items():
            value = values.get(key[: len(measures[name].by)])
            # Tables are read one after the other: a part may seem larger than its whole.
            setattr(row, name, None if value is None else max(0.0, value))
        rows.append(row)
    return sorted(rows, key=lambda row: [-(getattr(row, name) or 0.0) for name in definition.order])


def _number(engine: Row) -> list[int]:
    return [int(text) if text.isdigit() else -1 for text in (engine.instance, engine.name)]


def _spinlocks(sample: Sample, diagnosis: Diagnosis) -> tuple[Row, ...]:
    """Spinlocks by CPU burnt, the hottest first. Those that do not spin are left out, but for data caches.

    engines: how many spin on it; cpu: the same as a share of all of them; contended: as the diagnosis judges it.
    """
    cost, online = diagnosis.seconds_per_spin, diagnosis.measures["engines"].value
    known = catalogue()
    evaluation = Evaluation(sample)
    limits = [limit for each in known.findings["contended"].when for limit in each.items()]
    contended = {
        key
        for measure, bounds in limits
        for key, value in evaluation.rows_of(known.measures[measure]).items()
        if bounds.hold(value)
    }
    found = [each for each in _rows("spinlocks", sample) if each.spinlock_class == DATA_CACHE or each.spins]
    for each in found:
        each.engines = None if cost is None else (each.spins or 0.0) * cost
        each.cpu = each.engines / online if each.engines is not None and online else None
        each.contended = (each.name,) in contended
    return tuple(found)


def _caches(sample: Sample) -> tuple[Row, ...]:
    strategies = {
        labels["cache"]: labels.get("strategy", "") for labels, _ in sample.values("ase_cache_info")
    }
    pools = _rows("pools", sample)
    found = _rows("caches", sample)
    for each in found:
        each.strategy = strategies.get(each.name, "")
        each.size = each.size or math.fsum(pool.size for pool in pools if pool.cache == each.name) or None
    return tuple(found)


def _waits(sample: Sample) -> tuple[Row, ...]:
    """Waits that are part of the time account."""
    found = _rows("waits", sample) if sample.window("ase_wait_seconds_total") else ()
    return tuple(each for each in found if each.seconds)


def _space(sample: Sample) -> tuple[Row, ...]:
    """Logs and temporary databases before the others, the fullest first. note: whether no log space is left."""
    found = _rows("space", sample)
    for each in found:
        each.note = "log full" if each.log_full and each.use != "data" else ""
    return tuple(
        sorted(found, key=lambda each: each.use == "data" and not each.database.startswith("tempdb"))
    )
