"""`ase-exporter check`: whether the configuration is good, and what its servers do not let the exporter read."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import typer

from ase_exporter import config
from ase_exporter.ase.login_ledger import process_ledger
from ase_exporter.catalogue import Catalogue, load_catalogue
from ase_exporter.checks.exposures import open_files_and_logins
from ase_exporter.checks.target_check import TargetCheck, TargetReport
from ase_exporter.checks.view import check_view
from ase_exporter.commands.options import choose_targets, config_path, end_if_stuck
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.untrusted.entry import one_line
from ase_exporter.views.figures import counted
from ase_exporter.views.terminal import print_view

# Targets that are checked at the same time.
_MAX_PARALLEL = 8


def check(
    config_file: Path | None = None,
    targets: list[str] | None = None,
    user: str | None = None,
    password: bool = False,
    offline: bool = False,
    sql: bool = False,
    everything: bool = False,
    login_again: bool = False,
    timeout: float = 30.0,
) -> None:
    config_file = config_path(config_file)
    loaded = config.load(config_file) if config_file else config.from_environment()
    catalogue, problems = load_catalogue(loaded.catalogue.directories)
    problems += _unknown_collectors(loaded, catalogue)
    if problems:
        raise UserError(*problems)
    if offline:
        if sql:
            raise UserError("--sql: the statements depend on the server: expected no --offline with it")
        print(_summary(config_file, loaded, catalogue))
        _print_exposures(loaded, config_file)
        return
    end_if_stuck()
    process_ledger().once_more = login_again
    loaded, chosen = choose_targets(loaded, targets or (), user, password)

    def examine(each: Target) -> TargetReport | str | UserError:
        checking = TargetCheck(loaded, each, catalogue, everything=everything, timeout=timeout)
        try:
            return checking.script() if sql else checking.report()
        except UserError as error:
            return error

    reports: list[TargetReport | str | UserError] = []
    # Off the main thread, so that Ctrl-C works while the driver blocks.
    with ThreadPoolExecutor(min(_MAX_PARALLEL, len(chosen))) as executor:
        for report in executor.map(examine, chosen):
            if not isinstance(report, UserError) and any(not isinstance(each, UserError) for each in reports):
                print()
            reports.append(report)
            if isinstance(report, str):
                print(report)
            elif isinstance(report, TargetReport):
                print_view(check_view(report))
    if not sql:
        _print_exposures(loaded, config_file)
    if lines := [line for each in reports if isinstance(each, UserError) for line in each.lines]:
        raise UserError(*lines)
    if any(isinstance(each, TargetReport) and not each.is_good for each in reports):
        raise typer.Exit(1)


def _print_exposures(loaded: Config, file: Path | None) -> None:
    if lines := list(open_files_and_logins(loaded, file)):
        print("\nOpen to others:")
        for line in lines:
            print(f"  {one_line(line)}")


def _unknown_collectors(loaded: Config, catalogue: Catalogue) -> list[str]:
    """One line for each collector that a module names and the catalogue does not have."""
    return [
        f"modules.{name}.collectors.{collector}: no such collector; docs/metrics.md lists them"
        for name, module in loaded.modules.items()
        for collector in module.collectors
        if collector not in catalogue.collectors
    ]


def _summary(file: Path | None, loaded: Config, catalogue: Catalogue) -> str:
    targets = counted(len(loaded.targets), "target")
    return f"{file or 'environment'}: {targets}, {len(catalogue.collectors)} collectors: good"
