"""Saved reports as a history that Prometheus can take in: OpenMetrics with the times at which the samples ended."""

from collections.abc import Iterable, Iterator, Mapping

from ase_exporter.errors import UserError
from ase_exporter.families import escape_label, number
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.structure import Report

# It tells how long ago a sample was; in a history every sample is as old as its time says.
_OF_THE_PRESENT = "ase_sysmon_sample_age_seconds"


def history(
    reports: Iterable[tuple[str, Report]], cells: list[str], labels: Mapping[str, str]
) -> Iterator[str]:
    """Lines of OpenMetrics, series by series in the order of time, as `promtool tsdb create-blocks-from` wants them.

    reports: with the file that each is from; one that is there twice counts once. cells: as for `families`.
    labels: for every series; without an instance the server's name is it. UserError for a report without an end.
    """
    samples: dict[str, dict[str, dict[float, float]]] = {}
    for file, report in reports:
        if report.header.ended is None:
            raise UserError(f"{file}: the report does not say when its sample ended")
        ended = report.header.ended.timestamp()
        always = {"instance": report.header.server, **labels}
        for family in families(report, cells, ended, ended):
            for values, value in family.samples if family.name != _OF_THE_PRESENT else ():
                pairs = sorted({**always, **dict(zip(family.labels, values, strict=True))}.items())
                series = ",".join(f'{name}="{escape_label(text)}"' for name, text in pairs)
                samples.setdefault(family.name, {}).setdefault(series, {})[ended] = value
    for metric, of_metric in samples.items():
        yield f"# TYPE {metric} gauge"
        for series, values_at in of_metric.items():
            yield from (
                f"{metric}{{{series}}} {number(value)} {at}" for at, value in sorted(values_at.items())
            )
    yield "# EOF"
