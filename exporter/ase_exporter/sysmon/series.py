"""Series of many reports as one text: as Prometheus reads it now, or as OpenMetrics with times, for `promtool tsdb`."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ase_exporter.errors import UserError
from ase_exporter.metrics.exposition import escape_label, format_number, render_text
from ase_exporter.metrics.families import Family
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.structure import Report

# It is relative to the present; in a history every sample has its time.
_OF_THE_PRESENT = "ase_sysmon_sample_age_seconds"


def series_text(reports: Iterable[tuple[str, Report]], cells: list[str], files: int) -> str:
    """The series of reports, given with their files. files: how many there are.

    If there are several reports, every series has the labels file, run (its number in the file, from 1) and server.
    """
    found = [(file, report.header.server, families(report, cells)) for file, report in reports]
    if files == 1 and len(found) == 1:
        return render_text(found[0][2])
    merged: dict[str, Family] = {}
    runs: Counter[str] = Counter()
    for file, server, of_report in found:
        runs[file] += 1
        source = {"file": file, "run": str(runs[file]), "server": server}
        for each in of_report:
            names = tuple(sorted({*each.labels, *source}))
            family = merged.setdefault(each.name, Family(each.name, each.kind, each.help, names))
            for values, value in each.samples:
                labels = dict(zip(each.labels, values, strict=True)) | source
                family.add(value, *(labels[name] for name in names))
    return render_text(merged.values())


@dataclass(slots=True)
class OpenMetricsHistory:
    """Collects the series of many reports: two numbers for each point, whatever the reports hold beside.

    cells: as for `families`. labels: for every series; without an instance the server's name is it.
    """

    cells: list[str]
    labels: Mapping[str, str]
    _series: "dict[str, dict[str, array[float]]]" = field(default_factory=dict)

    def add(self, file: str, report: Report) -> None:
        """Add one report; raises UserError for one that does not say when its sample ended."""
        if report.header.ended is None:
            raise UserError(f"{file}: the report does not say when its sample ended")
        ended = report.header.ended.timestamp()
        always = {"instance": report.header.server, **self.labels}
        for family in families(report, self.cells, ended, ended):
            if family.name == _OF_THE_PRESENT:
                continue
            of_metric = self._series.setdefault(family.name, {})
            for values, value in family.samples:
                pairs = sorted({**always, **dict(zip(family.labels, values, strict=True))}.items())
                series = ",".join(f'{name}="{escape_label(text)}"' for name, text in pairs)
                of_metric.setdefault(series, array("d")).extend((ended, value))

    def lines(self) -> Iterator[str]:
        """OpenMetrics, series by series in the order of time; a sample that was added twice counts once."""
        for metric, of_metric in self._series.items():
            yield f"# TYPE {metric} gauge"
            for series, points in of_metric.items():
                values_at = dict(zip(points[::2], points[1::2], strict=True))
                for at, value in sorted(values_at.items()):
                    yield f"{metric}{{{series}}} {format_number(value)} {at}"
        yield "# EOF"
