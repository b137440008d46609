"""What the simulator prints and what the exporter reads are the same figures, whatever they are."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.exporter.sysmon.simulated import COUNT_NAMES, LAYOUTS

from ase_exporter.sysmon.report import parse
from ase_simulator.sysmon_report.page import Printed
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

# A whole report shrinks for hours; the first one that fails tells enough.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
COUNTS = st.one_of(
    st.just(0), st.integers(0, 100_000), st.integers(-(2**31), 2**31 - 1), st.integers(0, 10**14)
)
LOADS = st.floats(0, 10**9, allow_nan=False)
NAMES = (
    st.text("abcXYZ019 _.%/-", min_size=1, max_size=30)
    .map(lambda name: name.strip())
    .filter(lambda name: name and not name.startswith("-") and " : " not in f" {name} ")
)
DATES = st.datetimes(datetime(1998, 1, 1), datetime(2040, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)

POOLS = st.builds(PoolSample, st.sampled_from([2, 4, 8, 16, 32, 64]), *[COUNTS] * 5)
NAMED_COUNTS = [*COUNT_NAMES, "ulc_most", "sql_text_most"]


def unique(names: st.SearchStrategy[str], **sizes: Any) -> st.SearchStrategy[list[str]]:
    """Names that differ after blanks are squeezed too."""
    return st.lists(names, unique_by=lambda name: " ".join(name.split()), **sizes)


@st.composite
def samples(draw: st.DrawFn, layout: Layout) -> Sample:
    """Any sample of a layout."""
    pools = draw(unique(NAMES, min_size=1, max_size=2)) if layout != "15.0.3" else ["-"]
    numbers = draw(st.lists(st.integers(0, 1023), min_size=1, max_size=4, unique=True))
    seconds = draw(st.integers(1, 86399))
    engines = [
        draw(
            st.builds(
                EngineSample,
                st.just(number),
                st.sampled_from(pools),
                *[COUNTS] * 14,
                st.tuples(LOADS, LOADS, LOADS),
            )
        )
        for number in sorted(numbers)
    ]
    threads = [
        draw(
            st.builds(
                Thread,
                st.just(number),
                st.sampled_from([*pools, "syb_blocking_pool"]),
                st.just(f"Engine {number}"),
                *[COUNTS] * 6,
            )
        )
        for number in numbers
    ]
    caches = [
        CacheSample(  # type: ignore[call-arg]  # mypy does not know how many values draw() gives
            name,
            *draw(st.tuples(*[COUNTS] * 5)),
            tuple(draw(st.lists(POOLS, max_size=3, unique_by=lambda pool: pool.io_kb))),
            *draw(st.tuples(*[COUNTS] * 8)),
        )
        for name in draw(unique(NAMES, min_size=1, max_size=3))
    ]
    devices = [
        DeviceSample(name, f"/dev/{name}", *draw(st.tuples(*[COUNTS] * 3)))
        for name in draw(unique(NAMES, min_size=1, max_size=3))
    ]
    return Sample(
        server=draw(st.text("ABC_09", min_size=1, max_size=30)),
        version=f"Adaptive Server Enterprise/{layout}/"
        + draw(st.text("EBF P/x86_64 -", max_size=120)).strip(),
        layout=layout,
        started=draw(DATES),
        ended=draw(DATES),
        interval_s=seconds,
        elapsed_ms=1000 * seconds + draw(st.integers(0, 3000)),
        cleared=draw(st.none() | DATES),
        engines=tuple(engines),
        threads=tuple(threads),
        controllers=(
            draw(st.builds(Controller, st.just("NetController"), *[COUNTS] * 4)),
            Controller("DiskController"),
        ),
        caches=tuple(caches),
        devices=tuple(devices),
        buckets=(draw(st.builds(Bucket, st.just("LFB memory pool"), st.just(64), *[COUNTS] * 3)),),
        descriptors=tuple(
            draw(st.builds(Descriptors, st.just(name), *[COUNTS] * 5)) for name in ("Object", "Index")
        ),
        counts=draw(st.dictionaries(st.sampled_from(NAMED_COUNTS), COUNTS)),
        spinlocks={name: (draw(COUNTS), draw(COUNTS)) for name in ("Object Manager", "page", "table")},
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


EXAMPLES = [10, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("examples", EXAMPLES)
def test_figures_survive_the_way_through_the_report(layout: Layout, examples: int) -> None:
    settings(max_examples=examples, phases=PHASES)(given(samples(layout))(check))()
