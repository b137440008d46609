"""`ase-exporter sysmon`: read a report, compare two, run sp_sysmon."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.config import Auth, Target
from ase_exporter.errors import UserError
from ase_exporter.families import render_text
from ase_exporter.progress import progress
from ase_exporter.sysmon.difference import changes
from ase_exporter.sysmon.encode import as_csv, as_json
from ase_exporter.sysmon.headlines import SECTION_KEYWORDS
from ase_exporter.sysmon.history import history
from ase_exporter.sysmon.lines import decode
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.report import parse, parse_all
from ase_exporter.sysmon.runner import SampleError, take_sample
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.terminal import print_changes, print_report
from ase_exporter.targets import ConfigFile, TargetName, choose_target, load_config

app = typer.Typer(
    name="sysmon", help="Read sp_sysmon reports of any version, run it, compare two.", no_args_is_help=True
)


class TableFormat(StrEnum):
    """How a comparison of two is printed."""

    json = "json"
    table = "table"


class Format(StrEnum):
    """How a report is printed."""

    json = "json"
    metrics = "metrics"
    table = "table"
    csv = "csv"


ReportFormat = Annotated[Format, typer.Option("--format", help="json has one document per report.")]
CellSections = Annotated[
    str, typer.Option(help="With metrics: also every figure of these sections (kernel,locks,… or all).")
]


@app.command("parse")
def parse_command(
    file: Annotated[str, typer.Argument(help="A saved report, or - for standard input.")],
    form: ReportFormat = Format.table,
    cells: CellSections = "",
) -> None:
    """Print what a saved report says: as a table, JSON, CSV or metrics."""
    wanted = _sections(cells)
    for report in parse_all(_read(file), file):
        show(report, form, wanted)


@app.command("history")
def history_command(
    files: Annotated[list[str], typer.Argument(help="Saved reports, in any order.")],
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A label for every series; instance is the server's name."),
    ] = None,
    cells: CellSections = "",
) -> None:
    """Print saved reports as OpenMetrics with their times, for `promtool tsdb create-blocks-from openmetrics`."""
    labels = {}
    for text in label or ():
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UserError(f"--label: {text}: expected NAME=VALUE")
        labels[name] = value
    reports = [(file, report) for file in files for report in parse_all(_read(file), file)]
    for line in history(reports, _sections(cells), labels):
        print(line)


@app.command("diff")
def diff_command(
    before: Annotated[str, typer.Argument(help="The report from before the change.")],
    after: Annotated[str, typer.Argument(help="The report from after it.")],
    top: Annotated[int, typer.Option(min=0, help="How many changes to show; 0 for all.")] = 40,
    form: Annotated[TableFormat, typer.Option("--format", help="table or json.")] = TableFormat.table,
) -> None:
    """Compare two reports: the biggest changes first."""
    old, new = parse(_read(before), before), parse(_read(after), after)
    found = changes(old, new)
    shown = found[:top] if top else found
    if form is TableFormat.json:
        fields = ("section", "name", "measure", "before", "after", "weight")
        print(json.dumps([{field: getattr(change, field) for field in fields} for change in shown], indent=2))
        return
    print_changes(old, new, shown, len(found))


@app.command("run")
def run_command(
    target: TargetName = None,
    config_file: ConfigFile = None,
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="Length of the sample.")] = 60,
    section: Annotated[str | None, typer.Option(help="One section alone, such as kernel or locks.")] = None,
    form: ReportFormat = Format.table,
    cells: CellSections = "",
) -> None:
    """Run sp_sysmon once, without clearing the counters, and print what it says."""
    wanted = _sections(cells)
    if section is not None and section not in SECTION_KEYWORDS:
        raise UserError(f"--section: {section}: expected one of {', '.join(SECTION_KEYWORDS)}")
    loaded = load_config(config_file)
    chosen = choose_target(loaded, target)
    auth = loaded.auth[chosen.sysmon.auth if chosen.sysmon else chosen.auth]
    show(_run(chosen, auth, seconds, section), form, wanted)


def _run(target: Target, auth: Auth, seconds: int, section: str | None) -> Report:
    """One sample in a thread, since signals would wait for the driver, with a bar on the terminal."""
    with ThreadPoolExecutor(1) as pool, progress() as bar:
        task = bar.add_task(f"sp_sysmon on {target.name}", total=seconds)
        future = pool.submit(take_sample, target, auth, seconds, section)
        while not wait([future], timeout=0.5).done:
            bar.advance(task, 0.5)
        try:
            return future.result()
        except SampleError as error:
            raise UserError(f"sysmon run: {error}") from error


def show(report: Report, form: Format, cells: list[str]) -> None:
    """Print one report."""
    match form:
        case Format.json:
            print(json.dumps(as_json(report), ensure_ascii=False))
        case Format.csv:
            print(as_csv(report), end="")
        case Format.metrics:
            print(render_text(families(report, cells)), end="")
        case Format.table:
            print_report(report)


def _sections(names: str) -> list[str]:
    """Section names given on the command line."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = {"all", *SECTION_KEYWORDS, *SECTION_KEYWORDS.values()}
    for name in wanted:
        if name not in known:
            raise UserError(f"sysmon: section {name!r}: expected all or one of {', '.join(SECTION_KEYWORDS)}")
    return wanted


def _read(file: str) -> str:
    try:
        return decode(sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes())
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
