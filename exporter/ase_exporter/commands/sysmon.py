"""`ase-exporter sysmon`: read and compare reports, write a page, run sp_sysmon."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Literal

import typer

from ase_exporter.advise.sysmon_reports import advice_for
from ase_exporter.commands.options import choose_target, load_config, progress_bar, write_output
from ase_exporter.compare.sysmon_findings import configuration_changes, obstacles, pair_findings
from ase_exporter.compare.sysmon_headlines import Trends, print_trends, sysmon_page, trend_findings
from ase_exporter.config import Auth, Target
from ase_exporter.config.sysmon import SECTION_KEYWORDS
from ase_exporter.errors import UserError
from ase_exporter.metrics.exposition import render_text
from ase_exporter.pages.text import as_count
from ase_exporter.sysmon.difference import Side, changes
from ase_exporter.sysmon.encode import (
    CSV_HEADING,
    OpenMetricsHistory,
    as_json,
    csv_rows,
    series_entry,
    series_text,
)
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.report import expand, read_files, reports_of
from ase_exporter.sysmon.runner import SampleError, take_sample
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.terminal import completeness, print_comparison, print_report

MAX_SERIES = 10_000
# They are held in memory as a whole.
MAX_RUNS = 200


Format = Literal["table", "json", "metrics", "csv"]


def parse(files: list[str], form: Format = "table", cells: str = "", strict: bool = False) -> None:
    wanted = _sections(cells)
    names = expand(files)
    with reading(names, strict) as reports:
        match form:
            case "csv":
                print(CSV_HEADING, end="")
                for name, report in reports:
                    print(csv_rows(report, name), end="")
            case "metrics":
                print(series_text(reports, wanted, len(names)), end="")
            case _:
                for _, report in reports:
                    _print_one(report, form, wanted)


def history(files: list[str], label: list[str] | None = None, cells: str = "", strict: bool = False) -> None:
    labels = {}
    for text in label or ():
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UserError(f"--label: {text}: expected NAME=VALUE")
        labels[name] = value
    collected = OpenMetricsHistory(_sections(cells), labels)
    with reading(expand(files), strict) as reports:
        for name, report in reports:
            collected.add(name, report)
        for line in collected.lines():
            print(line)


def diff(
    files: list[str],
    top: int = 25,
    form: Literal["table", "json"] = "table",
    strict: bool = False,
) -> None:
    names = expand(files)
    second = set(expand(files[1:])) if len(files) == 2 else set()
    sides: tuple[list[Report], list[Report]] = ([], [])
    trends = Trends()
    entries = []
    with reading(names, strict) as found:
        for name, report in islice(found, MAX_SERIES):
            if second or not sides[1]:
                sides[name in second if second else len(sides[0])].append(report)
                if len(sides[0]) + len(sides[1]) > MAX_RUNS:
                    raise UserError(f"sysmon diff: expected at most {MAX_RUNS} runs in two files or folders")
            trends.add(name, report)
            if form == "json":
                entries.append(series_entry(name, report))
        if not sides[1]:
            raise UserError(f"sysmon diff: expected two reports or more, found {len(sides[0])}")
        if second or len(trends.files) + trends.undated == 2:
            _compare(sides, top, form)
        elif form == "json":
            entries.sort(key=lambda entry: str(entry["ended"]))
            print(json.dumps({"findings": trend_findings(trends), "reports": entries}, indent=2))
        else:
            print_trends(trends, trend_findings(trends))


def _compare(sides: tuple[Side, Side], top: int, form: str) -> None:
    """Print the changes between two sides."""
    everything = [change for change in changes(*sides) if not change.within_noise]
    shown = everything[:top] if top else everything
    findings, configuration = pair_findings(*sides), configuration_changes(*sides)
    if form == "json":
        fields = ("section", "name", "measure", "before", "after", "noise", "weight")
        listed = [{field: getattr(change, field) for field in fields} for change in shown]
        print(json.dumps({"findings": findings, "configuration": configuration, "changes": listed}, indent=2))
        return
    print_comparison(
        *sides,
        shown,
        len(everything),
        warnings=obstacles(*sides),
        findings=findings,
        configuration=configuration,
    )


def report(files: list[str], output: Path = Path("sysmon.html"), strict: bool = False) -> None:
    trends = Trends()
    kept: list[tuple[str, Report]] = []
    count = 0
    with reading(expand(files), strict) as found:
        for count, (name, report) in enumerate(islice(found, MAX_SERIES), 1):
            trends.add(name, report)
            kept.append((name, report))
            if count > 2:
                kept = [max(kept, key=lambda item: item[1].header.ended or datetime.min)]
        if not kept:
            raise UserError("sysmon report: no report found")
        pair = ([kept[0][1]], [kept[1][1]]) if len(kept) == 2 else None
        write_output(
            output,
            sysmon_page(
                kept,
                trends if count > 2 else None,
                findings=pair_findings(*pair) if pair else trend_findings(trends),
                configuration=configuration_changes(*pair) if pair else [],
                warnings=obstacles(*pair) if pair else [],
                advice=advice_for(kept[-1][1]),
            ),
        )
        print(f"{output}: {as_count(count, 'report')}")


def run(
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    config_file: Path | None = None,
    seconds: int = 60,
    section: str | None = None,
    form: Format = "table",
    cells: str = "",
) -> None:
    wanted = _sections(cells)
    if section is not None and section not in SECTION_KEYWORDS:
        raise UserError(f"--section: {section}: expected one of {', '.join(SECTION_KEYWORDS)}")
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    auth = loaded.auth[chosen.sysmon.auth if chosen.sysmon and not user else chosen.auth]
    _print_one(_run(chosen, auth, seconds, section), form, wanted)


def _run(target: Target, auth: Auth, seconds: int, section: str | None) -> Report:
    """One sample in a thread, since signals would wait for the driver, with a bar on the terminal."""
    with ThreadPoolExecutor(1) as pool, progress_bar() as bar:
        task = bar.add_task(f"sp_sysmon on {target.name}", total=seconds)
        future = pool.submit(take_sample, target, auth, seconds, section)
        while not wait([future], timeout=0.5).done:
            bar.advance(task, 0.5)
        try:
            return future.result()
        except SampleError as error:
            raise UserError(f"sysmon run: {error}") from error


def _print_one(report: Report, form: Format, cells: list[str]) -> None:
    match form:
        case "json":
            print(json.dumps(as_json(report), ensure_ascii=False))
        case "csv":
            print(CSV_HEADING + csv_rows(report), end="")
        case "metrics":
            print(render_text(families(report, cells)), end="")
        case "table":
            print_report(report)


@contextmanager
def reading(names: Sequence[str], strict: bool = False) -> Iterator[Iterator[tuple[str, Report]]]:
    """The reports of files, with a progress bar; those that are not complete are named on standard error.

    One file that cannot be read is an error (exit code 2). Of several, bad ones are skipped, listed on standard
    error and counted at the end: exit code 1, or 2 where none could be read. strict: exit code 1 too where a report is
    not complete.
    """
    incomplete: list[str] = []

    def watched(reports: Iterable[tuple[str, Report]]) -> Iterator[tuple[str, Report]]:
        for name, report in reports:
            if not report.complete:
                incomplete.append(name)
                print(f"ase-exporter: {name}: {completeness(report)}", file=sys.stderr)
            yield name, report

    skipped: list[tuple[str, str]] = []
    if len(names) == 1:
        yield watched((names[0], report) for report in reports_of(names[0]))
    else:
        with progress_bar() as bar:
            yield watched(read_files(bar.track(names, description="reading"), skipped))
    for name, reason in skipped:
        print(f"ase-exporter: {name}: skipped: {reason}", file=sys.stderr)
    if skipped:
        print(f"ase-exporter: {len(skipped)} of {len(names)} files skipped", file=sys.stderr)
        raise typer.Exit(1 if len(skipped) < len(names) else 2)
    if strict and incomplete:
        raise typer.Exit(1)


def _sections(names: str) -> list[str]:
    """Section names given on the command line."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = {"all", *SECTION_KEYWORDS, *SECTION_KEYWORDS.values()}
    for name in wanted:
        if name not in known:
            raise UserError(f"sysmon: section {name!r}: expected all or one of {', '.join(SECTION_KEYWORDS)}")
    return wanted
