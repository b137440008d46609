"""What the simulator prints and what the exporter reads are the same figures, whatever they are."""

import random
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.exporter.sysmon.simulated import COUNT_NAMES, LAYOUTS, simulated_sample

from ase_exporter.sysmon.report import parse
from ase_simulator.sysmon_report.page import Printed
from ase_simulator.sysmon_report.report import write
from ase_simulator.sysmon_report.sample import CacheSample, DeviceSample, Layout, Sample, Thread

NAMED_COUNTS = [*COUNT_NAMES, "ulc_most", "sql_text_most"]
# What the layout and the other fields depend on.
KEPT = {"layout", "version", "interval_s", "elapsed_ms", "io_kb", "size", "counts"}


def count(dice: random.Random) -> int:
    """Any counter: one that has wrapped is negative."""
    edge = dice.choice((0, 1, 99_999, 2**31 - 1, -(2**31), 10**14))
    return dice.choice((edge, dice.randrange(100_000), dice.randint(-(2**31), 2**31), dice.randrange(10**14)))


def name(dice: random.Random) -> str:
    """Any name that a row of a report may have."""
    while True:
        found = "".join(dice.choices("abcXYZ019 _.%/-", k=dice.randint(1, 30))).strip()
        if found and not found.startswith("-") and " : " not in f" {found} ":
            return found


def date(dice: random.Random) -> datetime:
    return datetime(1998, 1, 1) + timedelta(seconds=dice.randrange(42 * 365 * 86400))


def any_sample(layout: Layout, seed: int) -> Sample:
    """Any sample of a layout: a simulated one with other figures, names and times."""
    dice = random.Random(seed)
    seconds, apart = dice.randint(1, 86399), dice.choice((1, 100))
    renamed: dict[str, str] = {"-": "-"}

    def other(old: str) -> str:
        """A name of its own for each, after blanks are squeezed, too."""
        while old not in renamed:
            new = name(dice)
            if " ".join(new.split()) not in {" ".join(each.split()) for each in renamed.values()}:
                renamed[old] = new
        return renamed[old]

    by_type: dict[type, Callable[[Any], Any]] = {
        int: lambda _: count(dice),
        float: lambda _: dice.choice((0.0, dice.random(), dice.uniform(0, 1e9))),
        datetime: lambda _: date(dice),
        tuple: lambda values: tuple(map(changed, values)),
        dict: lambda values: {key: changed(value) for key, value in values.items()},
    }
    by_name: dict[str, Callable[[Any], Any]] = {
        "number": lambda number: number * apart,
        "pool": other,
        "cleared": lambda _: dice.choice((None, date(dice))),
    }

    def changed(value: Any) -> Any:
        if not is_dataclass(value):
            return by_type.get(type(value), lambda same: same)(value)
        cells = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in KEPT}
        new = {each: by_name.get(each, changed)(cell) for each, cell in cells.items()}
        if isinstance(value, CacheSample | DeviceSample):
            new["name"] = other(value.name)
        if isinstance(value, Thread):
            new["pool"] = dice.choice((new["pool"], "syb_blocking_pool"))
        return replace(value, **new)  # type: ignore[type-var]

    made: Sample = changed(simulated_sample(layout, seed))
    return replace(
        made,
        server="".join(dice.choices("ABC_09", k=dice.randint(1, 30))),
        interval_s=seconds,
        elapsed_ms=1000 * seconds + dice.randint(0, 3000),
        counts={each: count(dice) for each in NAMED_COUNTS if dice.random() < 0.5},
    )


def check(sample: Sample) -> None:
    page = write(sample)
    report = parse("\n".join(page.lines))
    read = [
        Printed(section.name, row.path, row.label, cell.measure, cell.value)
        for section, row, cell in report.cells()
    ]
    assert read == [printed for printed in page.printed if printed.value is not None]
    overflown = {
        (section.name, row.path, row.label, measure)
        for section in report.sections
        for row in section.rows
        for measure in row.overflow
    }
    assert overflown == {(p.section, p.path, p.row, p.measure) for p in page.printed if p.value is None}
    assert report.complete, (report.missing, report.unread, report.contradictions)
    header = report.header
    assert (header.server, header.started, header.ended) == (sample.server, sample.started, sample.ended)
    assert header.interval is not None and header.interval.total_seconds() == sample.interval_s
    assert header.cleared == sample.cleared
    assert sum("wrapped" in warning.text for warning in report.warnings) == sum(
        cell.value is not None and cell.value < 0 for cell in read
    )


SEEDS = [range(3), pytest.param(range(3, 1000), marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_figures_survive_the_way_through_the_report(layout: Layout, seeds: range) -> None:
    for seed in seeds:
        check(any_sample(layout, seed))
