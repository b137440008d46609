"""Whether the figures are of one sample: parts of other reports, and digits that were cut off, do not fit.

Counts divided by their rates give the seconds and the transactions of the sample, which are the same for all rows.
"""

import math
from collections.abc import Sequence

from ase_exporter.sysmon.structure import (
    COUNT,
    PER_SEC,
    PER_XACT,
    PERCENT_OF_TOTAL,
    Remark,
    Report,
    ReportRow,
)

# By how much a figure of one decimal may differ from what it was rounded from.
_ROUNDED = 0.0502
_MIN_SLACK, _SLACK = 5.0, 0.25


def check_arithmetic(report: Report) -> None:
    """Note the figures that do not fit the others."""
    for measure, what in ((PER_SEC, "seconds"), (PER_XACT, "transactions")):
        pairs = [
            (row, count, rate)
            for section in report.sections
            for row in section.rows
            if (count := row.get(COUNT)) is not None and (rate := row.get(measure)) is not None
        ]
        low, high = _divisor([(count, rate) for _, count, rate in pairs])
        if measure == PER_SEC:
            _check_interval(report, low, high)
        for row, count, rate in pairs if low else ():
            least, most = sorted((count / low, count / high))
            slack = _ROUNDED + 1e-9 * abs(rate)
            if not least - slack <= rate <= most + slack:
                text = f"{rate:g} {measure} is not {count:.0f} by the {what} of the other rows"
                report.contradictions.append(Remark(row.line, f"{row.name}: {text}"))
    for section in report.sections:
        _check_caches(report, [row for row in section.rows if row.label == "Utilization"])


def _check_interval(report: Report, low: float, high: float) -> None:
    """The figures are of the header's interval, or of a longer one by its own times: waits end late under load."""
    header = report.header
    if header.interval is None or not low or not header.interval.total_seconds():
        return
    seconds = header.interval.total_seconds()
    slack = max(_MIN_SLACK, _SLACK * seconds)
    if low - slack <= seconds <= high + slack:
        return
    text = f"the figures are of {low:.1f} seconds, the header is of {seconds:.0f}"
    took = (header.ended - header.started).total_seconds() if header.started and header.ended else 0.0
    # Both times are cut off to seconds.
    late = seconds < low <= took + 1.0 and took - 1.0 <= high
    remarks = report.warnings if late else report.contradictions
    remarks.append(Remark(0, f"{text}: the sample took longer than was asked for" if late else text))


def _check_caches(report: Report, rows: Sequence[ReportRow]) -> None:
    """The caches share all searches, unless there were none: each of them is there."""
    shares = [share for row in rows if (share := row.get(PERCENT_OF_TOTAL)) is not None]
    whole = math.fsum(shares)
    known = not any(row.overflow for row in rows) and min(shares, default=0.0) >= 0
    if known and whole and abs(whole - 100.0) > _ROUNDED * len(shares):
        text = f"the shares of {len(shares)} caches add up to {whole:.1f} %"
        report.contradictions.append(Remark(rows[0].line, f"{rows[0].name}: {text}"))


def _divisor(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """What counts are divided by to get their rates, by the highest rate, whose rounding matters least; else zeros."""
    rate, count = max(
        ((abs(rate), abs(count)) for count, rate in pairs if count * rate > 0), default=(0.0, 0.0)
    )
    slack = _ROUNDED + rate * 1e-9
    return (count / (rate + slack), count / (rate - slack)) if rate > slack else (0.0, 0.0)
