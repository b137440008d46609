"""Writes docs/metrics.md, the reference of all series, and the table of tested versions: python -m docs.write [--check]

The parts of the reference are the catalogue, the host collectors, the exporter's own metrics, sp_sysmon and
alerts/recorded.yaml. The table in docs/internals/real-servers.md comes from the results in tests/real/results.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from docs.catalogue_reference import reference
from tests.exporter.host import every_family

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.declared import OWN
from ase_exporter.sysmon.metrics import SYSMON
from ase_exporter.untrusted.encoders import markdown_table

HERE = Path(__file__).parent
METRICS = HERE / "metrics.md"
RECORDED = HERE.parent / "alerts" / "recorded.yaml"
REAL_SERVERS = HERE / "internals" / "real-servers.md"
RESULTS = HERE.parent / "tests" / "real" / "results"

_HOST = """
## Host

Read by the [host collectors](host.md) on the database's host.

| metric | help |
|---|---|
"""
_OWN = """
## The exporter itself

Those of a target come with its scrape; those of the exporter and of its host are on `/metrics`.

| metric | help |
|---|---|
"""
_SYSMON = """
## sp_sysmon

Gauges of the last sample of [scheduled sp_sysmon](sysmon.md). Rates are its counts divided by the seconds that it took.

| metric | help |
|---|---|
"""
_RECORDED = """
## Recorded series

Written by the [rules](../alerts/README.md) in Prometheus. Names are level:metric:operation; ratios are 0-1.
Spinning is an [estimate](../alerts/README.md#the-estimate-of-cpu-spent-spinning).

| series | meaning |
|---|---|
"""


def metrics() -> str:
    """Return the page as Markdown."""
    catalogue, _ = load_catalogue()
    recorded = yaml.safe_load(RECORDED.read_text(encoding="utf-8"))
    return "".join(
        [
            reference(catalogue),
            _HOST,
            *_rows(_host()),
            _OWN,
            *_rows((name, metric.labels, metric.help) for name, metric in OWN.by_name.items()),
            _SYSMON,
            *_rows(
                (name, metric.labels, metric.help.removesuffix(" Of the last sample."))
                for name, metric in SYSMON.by_name.items()
            ),
            _RECORDED,
            *(f"| `{name}` | {text} |\n" for name, text in recorded.items()),
        ]
    )


def _host() -> Iterator[tuple[str, Iterable[str], str]]:
    """Yield name, labels and help of each metric; the many of /proc/vmstat are two."""
    found = {}
    for name, family in every_family.families().items():
        text = family.help.rstrip(".")
        if match := re.fullmatch(r"dbhost_vmstat_(thp|htlb)_\w+_total", name):
            name, text = f"dbhost_vmstat_{match[1]}_*_total", f"/proc/vmstat {match[1]}_*"
        found[name] = (name, family.labels, text)
    yield from (found[name] for name in sorted(found))


def _rows(metrics: Iterable[tuple[str, Iterable[str], str]]) -> Iterator[str]:
    for name, labels, text in metrics:
        braces = f"{{{', '.join(labels)}}}" if labels else ""
        yield f"| `{name}{braces}` | {text} |\n"


def real_servers(page: str, results: Iterable[dict[str, Any]]) -> str:
    """Return the page of real servers with the table of the results between its marks."""
    rows = [
        [
            str(parse_version(each["banner"])),
            *(each["banner"], each["date"], each["exporter"]),
            ", ".join(sorted(name for name, end in each["outcomes"].items() if end == "failed")) or "none",
        ]
        for each in sorted(results, key=lambda each: (parse_version(each["banner"]), each["date"]))
        if each["real"]
    ]
    table = "**None yet**: the exporter has not run against a real ASE."
    if rows:
        table = markdown_table([["version", "@@version", "tested", "exporter", "failed"], *rows])
    before, start, rest = page.partition("<!-- results -->\n")
    _, end, after = rest.partition("<!-- end of results -->")
    return "".join([before, start, f"{table}\n", end, after])


def main() -> None:
    """Write the pages; with --check, only say which is out of date (exit code 1)."""
    arguments = argparse.ArgumentParser(description="Writes docs/metrics.md and a table in real-servers.md.")
    arguments.add_argument("--check", action="store_true", help="write nothing; exit code 1 if one is stale")
    check = arguments.parse_args().check
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    page = REAL_SERVERS.read_text(encoding="utf-8")
    for path, text in {METRICS: metrics(), REAL_SERVERS: real_servers(page, results)}.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} is not up to date: make generate")


if __name__ == "__main__":
    main()
