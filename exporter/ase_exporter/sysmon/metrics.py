"""A report as metric families: headline figures, and on request every figure."""

import time
from collections.abc import Collection, Iterable, Iterator

from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.metrics.families import Family, single
from ase_exporter.sysmon.headlines import BUSY_STATES, HEADLINES, Headline
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PERCENT, PERCENT_OF_TOTAL, QUALITIES, Report, Row

_EXACT_RATE = 500
_ENGINE_TABLES = ("Engine Utilization (Tick %)", "Engine Busy Utilization")

_OF_THE_SAMPLE = {
    "end_timestamp_seconds": "When the last sp_sysmon sample ended: Sampling Ended at.",
    "age_seconds": "Time since the last sample ended.",
    "interval_seconds": "Length of the last sample: Sample Interval.",
    "cleared_counters": "1 if the sample cleared the counters for everybody (Sample Mode: Reset Counters), else 0.",
    "complete": "1 if the report is whole: end line, all known parts and no server error in its text, else 0.",
    "warnings": "Warnings about the last sample: overflown columns, wrapped counters, a cut text.",
}


def families(
    report: Report, cells: Collection[str] = (), ended: float | None = None, now: float | None = None
) -> list[Family]:
    """Everything that is exported of one report.

    cells: sections (keyword such as 'kernel', or title) of which every figure is wanted; 'all' for all.
    ended: when the sample ended in seconds since the epoch, where known better than by the report, which
    prints its server's wall clock without a zone (read as this machine's).
    """
    return [
        *_sample(report, ended, time.time() if now is None else now),
        *headlines(report),
        *_cells(report, cells),
    ]


def headlines(report: Report) -> list[Family]:
    """The headline figures; a metric without a row in the report is left out."""
    found: dict[str, Family] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    seconds = elapsed_seconds(report)
    for headline in HEADLINES:
        family = found.setdefault(
            headline.name,
            Family(headline.name, "gauge", f"{headline.help} Of the last sample.", headline.labels),
        )
        for labels, value in _matches(report, headline, seconds):
            if (headline.name, labels) not in seen:
                seen.add((headline.name, labels))
                family.add(value, *labels)
    busy = found["ase_sysmon_server_busy_ratio"]
    _one_engine(report, busy)
    _process_kernel(report, busy, found)
    return [family for family in found.values() if family.samples]


def headline_values(report: Report) -> dict[str, dict[tuple[str, ...], float]]:
    """Every headline metric without its prefix `ase_sysmon_`, by its label values."""
    return {
        family.name.removeprefix("ase_sysmon_"): {tuple(labels): value for labels, value in family.samples}
        for family in headlines(report)
    }


def _process_kernel(report: Report, busy: Family, found: dict[str, Family]) -> None:
    """The process kernel prints no CPU units: they are the sum of its engines' CPU busy."""
    units = found["ase_sysmon_cpu_units"]
    kernel = report.section(SECTION_KEYWORDS["kernel"])
    states = {labels[0] for labels, _ in busy.samples}
    if kernel is None or units.samples or "cpu" not in states:
        return
    percents = [
        cell.value
        for row in kernel.rows
        if row.label.startswith("Engine ") and row.path[:1] and row.path[0].rstrip(":") in _ENGINE_TABLES
        for cell in row.cells
        if BUSY_STATES.get(cell.measure) == "cpu"
    ]
    used = _ratio(sum(percents))
    if not percents:
        return
    units.add(used)
    commits = found["ase_sysmon_committed_transactions_per_second"].samples
    if used > 0 and commits:
        found["ase_sysmon_throughput_per_cpu_unit"].add(round(next(iter(commits))[1] / used, 1))


def elapsed_seconds(report: Report) -> float:
    """Length of the sample in seconds, which exceeds the interval asked for; 0 if unknown.

    Count divided by rate of the busiest row is exact to a millisecond; the header has whole seconds.
    """
    interval = report.header.interval.total_seconds() if report.header.interval else 0.0
    rates = [
        (row.get(PER_SEC) or 0.0, row.get(COUNT) or 0.0)
        for section in report.sections
        for row in section.rows
    ]
    rate, count = max(rates, default=(0.0, 0.0))
    if rate < _EXACT_RATE or not interval / 2 <= count / rate <= (interval or count) * 2:
        return interval
    return count / rate


def wanted_sections(names: Collection[str]) -> set[str] | None:
    """Titles of the sections meant by keyword or title; None for all of them."""
    return None if "all" in names else {SECTION_KEYWORDS.get(name, name) for name in names}


def _sample(report: Report, ended: float | None, now: float) -> Iterator[Family]:
    header = report.header
    if ended is None and header.ended is not None:
        ended = header.ended.timestamp()
    values = {
        "end_timestamp_seconds": ended,
        "age_seconds": None if ended is None else max(now - ended, 0),
        "interval_seconds": header.interval.total_seconds() if header.interval is not None else None,
        "cleared_counters": float(cleared_counters(report)) if header.mode else None,
        "complete": float(report.complete and not report.messages),
        "warnings": len(report.warnings),
    }
    for name, value in values.items():
        if value is not None:
            yield single(f"ase_sysmon_sample_{name}", "gauge", _OF_THE_SAMPLE[name], value)
    yield Family(
        "ase_sysmon_sample_figures",
        "gauge",
        "Figures of the last sample by what its own redundancy says of them.",
        ("quality",),
        [((quality,), float(report.count(quality))) for quality in QUALITIES],
    )


def cleared_counters(report: Report) -> bool:
    """Whether the sample reset the counters, which other tools read too."""
    return report.header.mode.casefold() == "reset counters"


def _matches(report: Report, headline: Headline, seconds: float) -> Iterator[tuple[tuple[str, ...], float]]:
    for section in report.sections:
        if section.name != headline.section:
            continue
        for row in section.rows:
            match = headline.pattern.fullmatch(" / ".join((*row.path, row.label)))
            if match is None:
                continue
            known = {**headline.constant, **{name: text or "" for name, text in match.groupdict().items()}}
            for state, value in _values(row, headline, seconds):
                yield tuple({**known, "state": state}[name] for name in headline.labels), value


def _values(row: Row, headline: Headline, seconds: float) -> Iterator[tuple[str, float]]:
    """State ('' but for busy tables) and value of one row."""
    if headline.unit == "states":
        for cell in row.cells:
            if cell.measure in BUSY_STATES:
                yield BUSY_STATES[cell.measure], _ratio(cell.value)
    elif headline.unit == "ratio":
        percent = row.get(PERCENT_OF_TOTAL)
        percent = row.get(PERCENT) if percent is None else percent
        if percent is not None:
            yield "", _ratio(percent)
    elif headline.unit == "value":
        yield from (("", cell.value) for cell in row.cells[:1])
    else:
        count, rate = row.get(COUNT), row.get(PER_SEC)
        if count is not None and count >= 0 and seconds > 0:
            yield "", count / seconds
        elif rate is not None and rate >= 0:
            yield "", rate


def _ratio(percent: float) -> float:
    """A printed percentage in base units, without the noise of binary fractions."""
    return round(percent / 100, 6)


def _one_engine(report: Report, family: Family) -> None:
    """A server with one engine prints no summary: that engine is the average."""
    kernel = report.section(SECTION_KEYWORDS["kernel"])
    engines = [row for row in kernel.rows if row.path[:1] and row.path[0] in _ENGINE_TABLES] if kernel else []
    if not family.samples and len(engines) == 1:
        for cell in engines[0].cells:
            if cell.measure in BUSY_STATES:
                family.add(_ratio(cell.value), BUSY_STATES[cell.measure])


def _cells(report: Report, names: Collection[str]) -> Iterable[Family]:
    """Every figure of the sections asked for, as printed: percents stay percents."""
    if not names:
        return []
    wanted = wanted_sections(names)
    family = Family(
        "ase_sysmon_cell",
        "gauge",
        "One figure of the last sample as sp_sysmon printed it, by section, sub-headings, row and column.",
        ("measure", "path", "row", "section"),
    )
    seen: dict[tuple[str, ...], int] = {}
    for section, row, cell in report.cells():
        if wanted is not None and section.name not in wanted:
            continue
        path = " / ".join((section.instance, *row.path) if section.instance else row.path)
        labels = (cell.measure, path, row.label, section.name)
        seen[labels] = seen.get(labels, 0) + 1
        label = row.label if seen[labels] == 1 else f"{row.label} ({seen[labels]})"
        family.add(cell.value, cell.measure, path, label, section.name)
    return [family] if family.samples else []
