"""The command line: every command, and how their errors end.

Rooms with commands of their own keep them in a module `commands` with a typer app or function, mounted here.
"""

import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter import config, logs
from ase_exporter.errors import UserError
from ase_exporter.start import Options, start
from ase_exporter.targets import ConfigFile, TargetName, choose_target, load_config

app = typer.Typer(
    name="ase-exporter",
    help="Prometheus exporter for SAP ASE: where a database spins instead of works.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ase-exporter {version('ase-exporter')}")
        raise typer.Exit


@app.callback()
def _every_command(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    config_file: ConfigFile = None,
    listen_address: Annotated[
        str, typer.Option("--web.listen-address", help="HOST:PORT to listen on.")
    ] = config.DEFAULT_LISTEN_ADDRESS,
    web_config_file: Annotated[
        Path | None,
        typer.Option("--web.config.file", help="TLS, users and headers, by exporter-toolkit's keys."),
    ] = None,
    state_directory: Annotated[
        Path | None,
        typer.Option(
            "--state-dir",
            help="Where the history of changes is kept; without it, in memory.",
            file_okay=False,
        ),
    ] = None,
    log_format: Annotated[logs.Format, typer.Option("--log.format", help="text or json.")] = "text",
    log_level: Annotated[
        logs.Level, typer.Option("--log.level", help="debug, info, warning or error.")
    ] = "info",
) -> None:
    """Serve /metrics and /probe until told to stop."""
    files = (config_file, web_config_file, state_directory)
    config_path, web_config_path, state_path = (str(file or "") for file in files)
    start(Options(config_path, listen_address, web_config_path, state_path, log_format, log_level))


@app.command()
def probe(
    config_file: ConfigFile = None,
    target: TargetName = None,
    timeout: Annotated[float, typer.Option(help="Seconds for all of it.")] = 10.0,
    openmetrics: Annotated[bool, typer.Option("--openmetrics", help="OpenMetrics instead of text.")] = False,
) -> None:
    """Scrape one target once and print its metrics."""
    from ase_exporter.catalogue import load_catalogue
    from ase_exporter.families import render_openmetrics, render_text
    from ase_exporter.run import Run
    from ase_exporter.scrape import TargetScraper

    # What goes wrong with the target is said once, at the end.
    logs.configure("text", "error")
    loaded = load_config(config_file)
    chosen = choose_target(loaded, target)
    catalogue, problems = load_catalogue(loaded.catalogue.directories)
    for problem in problems:
        print(f"ase-exporter: {problem}", file=sys.stderr)
    scraper = TargetScraper(
        chosen, loaded.auth[chosen.auth], loaded.module(chosen.module), loaded.scrape, catalogue
    )
    run = Run(time.monotonic() + timeout)
    # Off the main thread, so that Ctrl-C works while the driver blocks.
    thread = threading.Thread(target=scraper.scrape, args=(run,), daemon=True)
    thread.start()
    thread.join(timeout + 1.0)
    if thread.is_alive():
        raise UserError(f"target {chosen.name}: the driver did not come back within {timeout:g} s")
    families = run.all_families(stuck=False)
    sys.stdout.write(render_openmetrics(families) if openmetrics else render_text(families))
    scraper.close()
    if run.error:
        raise UserError(f"target {chosen.name}: {run.error}")


def _mount_the_rooms() -> None:
    from ase_exporter.advise.commands import advise
    from ase_exporter.catalogue.commands import app as catalogue_app
    from ase_exporter.catalogue.commands import check
    from ase_exporter.changes.commands import annotate, changes
    from ase_exporter.compare.commands import compare
    from ase_exporter.demo.commands import demo
    from ase_exporter.host.commands import hugepages
    from ase_exporter.sysmon.commands import app as sysmon

    app.command()(check)
    app.command()(annotate)
    app.command()(changes)
    app.command()(hugepages)
    app.command()(demo)
    app.command()(compare)
    app.command()(advise)
    app.add_typer(sysmon)
    app.add_typer(catalogue_app)


# What the other commands import takes as long as all else that a server needs to start.
if sys.argv[1:2] != ["serve"]:
    _mount_the_rooms()


def main() -> None:
    """Entry point. Bad input: one line on stderr, exit code 2; Ctrl-C: exit code 130."""
    try:
        app()
    except UserError as error:
        print(f"ase-exporter: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
