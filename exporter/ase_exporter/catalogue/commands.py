"""Commands around the catalogue: what is read, and what a server withholds."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ase_exporter.catalogue.facts import ServerFacts, read_facts
from ase_exporter.catalogue.gaps import Gap, find_gaps
from ase_exporter.catalogue.load import load_catalogue
from ase_exporter.catalogue.reference import reference as write_reference
from ase_exporter.config import Auth, Target
from ase_exporter.connection import Connection, DatabaseError, Endpoint
from ase_exporter.errors import UserError
from ase_exporter.scrape import SESSION_SETUP
from ase_exporter.targets import ConfigFile, TargetName, choose_target, load_config

app = typer.Typer(name="catalogue", help="What is read of a server.", no_args_is_help=True)

_METRICS_SHOWN = 6


@app.command()
def reference() -> None:
    """Print the reference of all metrics as Markdown."""
    catalogue, _ = load_catalogue()
    print(write_reference(catalogue), end="")


@app.command()
def validate(
    directories: Annotated[list[Path], typer.Argument(help="Directories with custom metrics (*.yaml).")],
) -> None:
    """Check custom metrics; one line per file that is wrong, and exit code 2."""
    catalogue, problems = load_catalogue(directories)
    if problems:
        raise UserError("\n".join(problems))
    built_in, _ = load_catalogue()
    print(f"{len(catalogue.collectors) - len(built_in.collectors)} collectors are good")


def check(
    config_file: ConfigFile = None,
    target: TargetName = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Ask for collectors too that are off by default.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds for all of it.")] = 30.0,
) -> None:
    """Say what a target withholds: role, switch, version; what it costs in metrics; the SQL that mends it.

    Exit code 0: nothing that could be mended; 1: gaps.
    """
    loaded = load_config(config_file)
    chosen = choose_target(loaded, target)
    auth = loaded.auth[chosen.auth]
    catalogue, problems = load_catalogue(loaded.catalogue.directories)
    if problems:
        raise UserError("\n".join(problems))
    # pyodbc must not run on the main thread, where Ctrl-C would wait for the driver.
    with ThreadPoolExecutor(1) as pool:
        facts = pool.submit(_facts, chosen, auth, time.monotonic() + timeout).result()
    selection = dict(loaded.module(chosen.module).collectors)
    if everything:
        selection = dict.fromkeys(catalogue.collectors, True)
    gaps = find_gaps(catalogue, facts, selection, auth.user)
    show(gaps, facts, chosen.name, Console(highlight=False))
    if any(gap.remedies or gap.note for gap in gaps):
        raise typer.Exit(1)


def show(gaps: list[Gap], facts: ServerFacts, name: str, console: Console) -> None:
    """Print gaps for people."""
    console.print(f"{escape(name)}: {escape(facts.server_name)}, ASE {facts.version}")
    if not gaps:
        console.print("Nothing is missing.")
    for gap in gaps:
        console.print(f"\n[bold]{escape(gap.cause)}[/bold]" + (f" ({escape(gap.note)})" if gap.note else ""))
        shown = ", ".join(gap.metrics[:_METRICS_SHOWN])
        more = len(gap.metrics) - _METRICS_SHOWN
        console.print(f"  costs {len(gap.metrics)} metrics of {', '.join(gap.collectors)}:", soft_wrap=True)
        console.print(f"  {shown}" + (f" and {more} more" if more > 0 else ""), soft_wrap=True)
        for remedy in gap.remedies:
            console.print(f"  [green]{escape(remedy)}[/green]", soft_wrap=True)


def _facts(target: Target, auth: Auth, deadline: float) -> ServerFacts:
    endpoint = Endpoint(target.host, target.port, target.charset, target.encrypt_password)
    try:
        connection = Connection.open(endpoint, auth.user, auth.read_password(), deadline=deadline)
        try:
            connection.query(SESSION_SETUP, deadline)
            return read_facts(lambda sql: connection.query(sql, deadline))
        finally:
            connection.close()
    except DatabaseError as error:
        raise UserError(f"target {target.name}: {error}") from error
