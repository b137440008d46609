"""`ase-exporter sysmon`: read and compare reports, run sp_sysmon."""

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Literal

import typer

from ase_exporter.commands.options import (
    choose_target,
    end_if_stuck,
    load_config,
    off_main_thread,
    require_output,
    tell,
    write_output,
)
from ase_exporter.config import Auth, Target
from ase_exporter.errors import UserError
from ase_exporter.sysmon.report import reports_of
from ase_exporter.sysmon.runner import SampleError, login_for, print_sample, read_sample
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.view import completeness, difference_view, report_json, sysmon_view
from ase_exporter.views.terminal import print_view


def parse(files: list[str], form: Literal["table", "json"] = "table") -> None:
    failed = False
    for name in files:
        try:
            for report in reports_of(name):
                if form == "json":
                    print(json.dumps(report_json(report), ensure_ascii=False))
                else:
                    print_view(sysmon_view(report))
                failed |= _is_incomplete(name, report)
        except UserError as error:
            print(f"ase-exporter: {error}", file=sys.stderr)
            failed = True
    if failed:
        raise typer.Exit(2)


def diff(before: str, after: str, top: int = 25) -> None:
    old, new = _only(before), _only(after)
    print_view(difference_view(old, new, top))
    incomplete = [_is_incomplete(name, report) for name, report in ((before, old), (after, new))]
    if any(incomplete):
        raise typer.Exit(2)


def run(
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    config_file: Path | None = None,
    seconds: float = 60.0,
    output: Path | None = None,
) -> None:
    require_output(output)
    end_if_stuck()
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    auth = loaded.auth[chosen.sysmon.auth if chosen.sysmon and not user else chosen.auth]
    report = _run(chosen, auth, round(seconds), output)
    print_view(sysmon_view(report))
    if _is_incomplete(chosen.name, report):
        raise typer.Exit(2)


def _run(target: Target, auth: Auth, seconds: int, output: Path | None) -> Report:
    """One sample. output: keeps the lines as the server sent them, also those that are no report."""
    tell(f"sp_sysmon on {target.name} for {seconds} s")
    try:
        lines = off_main_thread(lambda: print_sample(target, login_for(target, auth), seconds))
        if output is not None:
            write_output(output, "\n".join([*lines, ""]))
        return read_sample(target, lines)
    except SampleError as error:
        raise UserError(f"sysmon run: {error}") from error


def _only(name: str) -> Report:
    """The report of a file that holds one."""
    found = list(islice(reports_of(name), 2))
    if len(found) > 1:
        raise UserError(f"{name}: expected one report, found more")
    return found[0]


def _is_incomplete(name: str, report: Report) -> bool:
    """Whether a report is not complete, which standard error says too."""
    if not report.complete:
        print(f"ase-exporter: {name}: {completeness(report)}", file=sys.stderr)
    return not report.complete
