"""Plays the demo: the case study from wire to alert, shown while it runs."""

import contextlib
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live

from ase_exporter.connection import Endpoint
from ase_exporter.demo import view
from ase_exporter.demo.faster import Pace
from ase_exporter.demo.ports import HOST, Ports
from ase_exporter.demo.processes import Processes
from ase_exporter.demo.replay import measured, published, results
from ase_exporter.demo.scenario import Scenario
from ase_exporter.demo.stack import LOGIN, RUN_SECONDS, Stack
from ase_exporter.demo.webhook import Webhook
from ase_exporter.errors import UserError
from ase_exporter.prometheus import Prometheus, PrometheusError

LEISURELY_RUN = 60.0
SHORTEST_RUN = 4.0
START_ALLOWANCE = 8.0
"""Seconds of the clock: of a run where nobody asks for a duration; at least; for all to start."""

REFRESH_SECONDS = 1.0


def play(duration: float | None, port_base: int, directory: Path) -> None:
    """Play for `duration` seconds, or until Ctrl-C; then print every run beside the case study's figures.

    directory: gets a subdirectory for each port base. Raises UserError.
    """
    started = time.monotonic()
    pace = choose_pace(duration, len(published()))
    ports = Ports.from_base(port_base)
    work = directory.absolute() / str(port_base)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    console = Console()
    with _ended_politely(), Webhook(HOST, ports.webhook) as webhook, Processes(work) as processes:
        stack = Stack(processes, ports, pace, work, ["--scenario=memscale"])
        with console.status("starting the simulator, the exporter, Prometheus, Alertmanager"):
            stack.start()
        console.print(view.addresses(stack.addresses()))
        console.print("\nIn another terminal:")
        for command in stack.invitations():
            console.print(f"  {command}", soft_wrap=True, markup=False, highlight=False)
        prometheus = Prometheus(stack.url("prometheus"))
        server = Endpoint(HOST, ports.simulator)
        with Scenario(server, LOGIN, stack.password(), pace.speed) as scenario:
            with contextlib.suppress(KeyboardInterrupt):
                _watch(
                    console,
                    processes,
                    prometheus,
                    scenario,
                    webhook,
                    None if duration is None else started + duration,
                )
            _ignore_signals()
            seen = results(prometheus, scenario.runs(), pace, time.time())
    console.print(view.comparison(seen, published()))


def choose_pace(duration: float | None, runs: int) -> Pace:
    """How fast simulated time must run for all runs to be seen; UserError if that is too fast to measure."""
    run = LEISURELY_RUN if duration is None else (duration - START_ALLOWANCE) / runs
    if run < SHORTEST_RUN:
        shortest = START_ALLOWANCE + SHORTEST_RUN * runs
        raise UserError(f"demo: --duration {duration:g}: expected {shortest:g} or more, to see every run")
    return Pace(speed=RUN_SECONDS / run, scrape_interval=max(0.5, run / 20))


def _watch(
    console: Console,
    processes: Processes,
    prometheus: Prometheus,
    scenario: Scenario,
    webhook: Webhook,
    until: float | None,
) -> None:
    """Show the server as it is until the time comes, or Ctrl-C."""
    announced = ""
    with Live(console=console, auto_refresh=False, transient=True) as screen:
        while until is None or time.monotonic() < until:
            processes.check()
            runs = scenario.runs()
            run = runs[-1] if runs else None
            if run and run.name != announced and not console.is_terminal:
                announced = run.name
                console.print(f"run {run.name} begins")
            try:
                note = f"{len(webhook.notifications())} notifications at the webhook; Ctrl-C ends everything"
                now, firing = measured(prometheus), prometheus.firing()
                screen.update(view.live(run, now, firing, note), refresh=True)
            except PrometheusError as error:
                screen.update(str(error), refresh=True)
            left = REFRESH_SECONDS if until is None else min(REFRESH_SECONDS, until - time.monotonic())
            time.sleep(max(0.0, left))


@contextlib.contextmanager
def _ended_politely() -> Iterator[None]:
    """A closed terminal or a polite kill ends the demo as Ctrl-C does: with everything it started."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_signals() -> None:
    """A second Ctrl-C must not leave processes behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
