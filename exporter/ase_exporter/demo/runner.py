"""Runs the demo: replays the case study from the TDS protocol to alerts, and shows live figures."""

import contextlib
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from rich.live import Live

from ase_exporter.ase.connection import Endpoint
from ase_exporter.compare.prometheus import Prometheus, PrometheusError
from ase_exporter.demo import view
from ase_exporter.demo.processes import HOST, Ports, Processes
from ase_exporter.demo.replay import Scenario, measured, published, results
from ase_exporter.demo.scaling import Pace
from ase_exporter.demo.stack import LOGIN, RUN_SECONDS, Stack
from ase_exporter.demo.webhook import Webhook
from ase_exporter.errors import UserError
from ase_exporter.untrusted.terminal import PlainConsole, TextLine

DEFAULT_RUN_SECONDS = 60.0
MIN_RUN_SECONDS = 4.0
START_SECONDS = 8.0
"""Real seconds: of a run without --duration; minimum of a run; allowed for the start of all processes."""

REFRESH_SECONDS = 1.0


def run_demo(duration: float | None, port_base: int, directory: Path) -> None:
    """Run for `duration` seconds, or until Ctrl-C; then print every run beside the case study's figures.

    directory: gets a subdirectory per port base, which is emptied first. Raises UserError if a process cannot be
    started or ends.
    """
    started = time.monotonic()
    pace = choose_pace(duration, len(published()))
    ports = Ports.from_base(port_base)
    work = directory.absolute() / str(port_base)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    console = PlainConsole()
    with _signals_as_ctrl_c(), Webhook(HOST, ports.webhook) as webhook, Processes(work) as processes:
        stack = Stack(processes, ports, pace, work, ["--scenario=memscale"])
        with console.status("starting the simulator, the exporter, Prometheus, Alertmanager"):
            stack.start()
        console.print(view.addresses(stack.addresses()))
        console.print("\nIn another terminal:")
        for command in stack.example_commands():
            console.print(TextLine(f"  {command}", whole=True))
        prometheus = Prometheus(stack.url("prometheus"))
        server = Endpoint(HOST, ports.simulator)
        with Scenario(server, LOGIN, stack.password(), pace.speed) as scenario:
            with contextlib.suppress(KeyboardInterrupt):
                until = None if duration is None else started + duration
                _watch(console, processes, prometheus, scenario, webhook, until)
            _ignore_signals()
            now, runs = time.time(), scenario.runs()
            measured_runs = results(prometheus, runs, pace, now)
            page = work / "replay.html"
            if runs:
                page.write_text(
                    view.replay_page(
                        prometheus,
                        runs,
                        webhook.notifications(),
                        measured_runs,
                        published(),
                        end=now,
                        step=pace.scrape_interval,
                    ),
                    encoding="utf-8",
                )
    console.print(view.comparison(measured_runs, published()))
    if page.exists():
        console.print(TextLine(f"\nThe replay in pictures: {page}", whole=True))


def choose_pace(duration: float | None, runs: int) -> Pace:
    """Return the pace at which all runs fit into `duration`. Raises UserError if that is too fast to measure."""
    run = DEFAULT_RUN_SECONDS if duration is None else (duration - START_SECONDS) / runs
    if run < MIN_RUN_SECONDS:
        minimum = START_SECONDS + MIN_RUN_SECONDS * runs
        raise UserError(f"demo: --duration {duration:g}: expected {minimum:g} or more, to see every run")
    return Pace(speed=RUN_SECONDS / run, scrape_interval=max(0.5, run / 20))


def _watch(
    console: PlainConsole,
    processes: Processes,
    prometheus: Prometheus,
    scenario: Scenario,
    webhook: Webhook,
    until: float | None,
) -> None:
    """Show live figures until `until` (monotonic time) or Ctrl-C."""
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
                firing = [each.labels for each in prometheus.query('ALERTS{alertstate="firing"}')]
                screen.update(view.live(run, measured(prometheus), firing, note), refresh=True)
            except PrometheusError as error:
                screen.update(str(error), refresh=True)
            left = REFRESH_SECONDS if until is None else min(REFRESH_SECONDS, until - time.monotonic())
            time.sleep(max(0.0, left))


@contextlib.contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that every child process is stopped."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_signals() -> None:
    """Keep a second Ctrl-C from interrupting the shutdown of child processes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
