"""`ase-exporter advise`: watches a server and prints advice about its hot spinlocks."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import typer

from ase_exporter.advise import report
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.advise.evidence import Evidence, gather
from ase_exporter.advise.host_cpu import cpu_flags, flags_of_host
from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.ase.login import Login
from ase_exporter.catalogue import load_catalogue
from ase_exporter.commands.options import (
    AskPassword,
    ConfigFile,
    LoginName,
    SecondsPerSpin,
    TargetName,
    choose_target,
    format_option,
    load_config,
    progress_bar,
)
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.scraping.target_scraper import SESSION_SETUP
from ase_exporter.untrusted.terminal import PlainConsole

STATEMENT_SECONDS = 30.0


def advise(
    config_file: ConfigFile = None,
    target: TargetName = None,
    user: LoginName = None,
    password: AskPassword = False,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="Seconds to watch the server.")] = 30.0,
    cpuinfo: Annotated[
        Path | None,
        typer.Option(help="A copy of /proc/cpuinfo of the database host, if that is another machine."),
    ] = None,
    seconds_per_spin: SecondsPerSpin = None,
    output: Annotated[Literal["terminal", "markdown", "json"], format_option()] = "terminal",
) -> None:
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    flags = cpu_flags(cpuinfo) if cpuinfo else flags_of_host(chosen.host)
    with (
        progress_bar() as bar,
        ThreadPoolExecutor(1) as executor,
    ):
        task = bar.add_task(f"Watching {chosen.name}", total=seconds)
        stop = threading.Event()
        # Off the main thread, so that Ctrl-C works while the driver blocks.
        evidence_future = executor.submit(
            _watch, loaded, chosen, seconds, flags, stop, lambda passed: bar.update(task, completed=passed)
        )
        try:
            evidence = evidence_future.result()
        finally:
            stop.set()
    advice = weigh(evidence, seconds_per_spin)
    if output == "terminal":
        PlainConsole().print(report.terminal(advice))
    else:
        print(report.markdown(advice) if output == "markdown" else report.as_json(advice), end="")


def _watch(
    loaded: Config,
    target: Target,
    seconds: float,
    flags: frozenset[str] | None,
    stop: threading.Event,
    show: Callable[[float], None],
) -> Evidence:
    catalogue, _ = load_catalogue(loaded.catalogue.directories)
    login = Login(Endpoint.of(target), loaded.auth[target.auth], Connection.open)

    def wait(duration: float) -> None:
        started = time.monotonic()
        while not stop.wait(0.25) and (passed := time.monotonic() - started) < duration:
            show(passed)

    try:
        connection = login.open(time.monotonic() + max(loaded.scrape.connect_timeout, 2.0))
        with closing(connection):
            connection.query(SESSION_SETUP, time.monotonic() + STATEMENT_SECONDS)
            return gather(
                lambda sql: connection.query(sql, time.monotonic() + STATEMENT_SECONDS),
                catalogue,
                seconds,
                wait,
                flags,
            )
    except DatabaseError as error:
        raise UserError(f"target {target.name}: {error}") from error
