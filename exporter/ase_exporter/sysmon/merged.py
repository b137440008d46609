"""Many reports as one Prometheus text: each metric has its HELP once, each series says where it is from."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO

from ase_exporter.metrics.exposition import render_text
from ase_exporter.metrics.families import Family
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.structure import Report

_SOURCE_LABELS = ("file", "run", "server")
_CHUNK = 1 << 16


def merged_text(reports: Iterable[tuple[str, Report]], cells: list[str]) -> Iterator[str]:
    """The exposition text in pieces, of reports given with their files.

    Every series has the labels file, run (its number in the file, from 1) and server. The samples of each metric
    are kept in a temporary file, so that memory does not grow with the number of reports.
    """
    parts: dict[str, IO[str]] = {}
    runs: Counter[str] = Counter()
    try:
        for file, report in reports:
            runs[file] += 1
            source = {"file": file, "run": str(runs[file]), "server": report.header.server}
            for family in families(report, cells):
                head, samples = _rendered(family, source)
                if family.name not in parts:
                    parts[family.name] = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
                    parts[family.name].write(head)
                parts[family.name].write(samples)
        for part in parts.values():
            part.seek(0)
            while text := part.read(_CHUNK):
                yield text
    finally:
        for part in parts.values():
            part.close()


def _rendered(family: Family, source: dict[str, str]) -> tuple[str, str]:
    """HELP and TYPE lines, and the samples."""
    names = tuple(sorted({*family.labels, *_SOURCE_LABELS}))
    labelled = Family(family.name, family.kind, family.help, names)
    for values, value in family.samples:
        labels = dict(zip(family.labels, values, strict=True)) | source
        labelled.add(value, *(labels[name] for name in names))
    lines = render_text([labelled]).splitlines(keepends=True)
    return (
        "".join(line for line in lines if line.startswith("#")),
        "".join(line for line in lines if not line.startswith("#")),
    )
