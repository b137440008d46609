"""`ase-exporter advise`."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from ase_exporter.advise import report
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.advise.evidence import Evidence, gather
from ase_exporter.catalogue import load_catalogue
from ase_exporter.config import Config, Target
from ase_exporter.connection import Connection, DatabaseError, Endpoint
from ase_exporter.errors import UserError
from ase_exporter.progress import progress
from ase_exporter.targets import ConfigFile, TargetName, choose_target, load_config

STATEMENT_SECONDS = 30.0


class Format(StrEnum):
    """How advice is printed."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"


def advise(
    config_file: ConfigFile = None,
    target: TargetName = None,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="How long to watch the server.")] = 30.0,
    output: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TERMINAL,
) -> None:
    """Watch a server and say what eases its hot spinlocks: statements, arithmetic, prediction."""
    loaded = load_config(config_file)
    chosen = choose_target(loaded, target)
    with (
        progress() as bar,
        ThreadPoolExecutor(1) as executor,
    ):
        task = bar.add_task(f"Watching {chosen.name}", total=seconds)
        stop = threading.Event()
        # The driver blocks: off the main thread, so that Ctrl-C is heard.
        found = executor.submit(
            _watch, loaded, chosen, seconds, stop, lambda passed: bar.update(task, completed=passed)
        )
        try:
            evidence = found.result()
        finally:
            stop.set()
    advice = weigh(evidence)
    if output is Format.TERMINAL:
        Console().print(report.terminal(advice))
    else:
        typer.echo(report.markdown(advice) if output is Format.MARKDOWN else report.as_json(advice), nl=False)


def _watch(
    loaded: Config, target: Target, seconds: float, stop: threading.Event, show: Callable[[float], None]
) -> Evidence:
    catalogue, _ = load_catalogue(loaded.catalogue.directories)
    auth = loaded.auth[target.auth]
    endpoint = Endpoint(target.host, target.port, target.charset, target.encrypt_password)
    try:
        connection = Connection.open(
            endpoint,
            auth.user,
            auth.read_password(),
            deadline=time.monotonic() + max(loaded.scrape.connect_timeout, 2.0),
        )
    except DatabaseError as error:
        raise UserError(f"target {target.name}: {error}") from error

    def wait(duration: float) -> None:
        started = time.monotonic()
        while not stop.wait(0.25) and (passed := time.monotonic() - started) < duration:
            show(passed)

    try:
        return gather(
            lambda sql: connection.query(sql, time.monotonic() + STATEMENT_SECONDS), catalogue, seconds, wait
        )
    except DatabaseError as error:
        raise UserError(f"target {target.name}: {error}") from error
    finally:
        connection.close()
