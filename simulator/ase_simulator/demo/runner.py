"""Runs the demo: plays the case study from the TDS protocol to alerts, and prints what Prometheus measured."""

import asyncio
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.errors import UserError
from ase_simulator.demo.figures import CACHES, CPU_BUSY, THROUGHPUT, measured, published, steady
from ase_simulator.demo.processes import HOST, Ports, Processes
from ase_simulator.demo.scaling import Pace
from ase_simulator.demo.stack import Stack
from ase_simulator.demo.webhook import Notification, receiving
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.simulation import simulation
from ase_simulator.usage import UsageError

SCENARIO = "memscale"
DEFAULT_RUN_SECONDS = 60.0
MIN_RUN_SECONDS = 4.0
START_SECONDS = 8.0
"""Real seconds: of a run without --duration; minimum of a run; allowed for the start of all processes."""

SIMULATED_RUN_SECONDS = 600.0
POLL_SECONDS = 0.5
_STORY = """
800 users work on 128 engines. In each run the server has other features: transactional memory (TSX), compiled plans
(SNAP), a lockless data cache (LLDC), latch-free indexes (LFB), a row store in memory (IMRS), hash-cached indexes (HCB);
config A to C are the study's names of its set-ups. A row has what Prometheus measured (-: this machine was too busy to)
beside what the study prints: how often grabs of three spinlocks wait and how busy the CPU is, in percent, and the work
done for each unit of CPU.
To learn: busy is not working. The CPU stays as busy, but does 70 % more once LLDC has removed the contended spinlock.
"""
_HEADINGS = (
    "run                           default    system       log     CPU   transactions",
    "  measured/published       data cache    tables     cache    busy   per CPU unit",
)
_WIDTHS = dict(zip((*CACHES, CPU_BUSY, THROUGHPUT), (11, 10, 10, 10, 13), strict=True))


class Run(NamedTuple):
    """A run of the replay. set_up: what the server has. start: Unix time."""

    name: str
    set_up: str
    start: float


async def run_demo(duration: float | None, port_base: int, directory: Path) -> None:
    """Run for `duration` seconds, or until a signal; print every run that ends beside the case study's figures.

    directory: gets a subdirectory per port base, which is emptied first. Raises UsageError if a process cannot be
    started or ends.
    """
    pace = choose_pace(duration, len(published()))
    ports = Ports.from_base(port_base)
    work = directory.absolute() / str(port_base)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    stop = _stop_by_signal_or_after(duration)
    (server,) = load_scenario(SCENARIO, speed=0)
    with Processes(work) as processes, receiving(HOST, ports.webhook, _print_alert):
        stack = Stack(processes, ports, pace, work)
        async with simulation(server, stack.logins, HOST, ports.simulator):
            print("starting exporter, Prometheus, Alertmanager", flush=True)
            await stack.start(stop)
            # Not before: without scrapes there are no figures of the first run.
            with suppress(TimeoutError):
                await asyncio.wait_for(_first_scrape(stack, processes, stop), START_SECONDS)
            server.world.clock.change_speed(pace.speed)
            for name, address in stack.addresses().items():
                print(f"  {name:<15}{address}")
            print("\nIn another terminal:")
            for command in stack.example_commands(SIMULATED_RUN_SECONDS / pace.speed):
                print(f"  {command}")
            print(_STORY)
            print("Ctrl-C ends everything. Each run, and the alerts that arrive at the webhook:", flush=True)
            await _watch(server, stack, processes, stop)


def choose_pace(duration: float | None, runs: int) -> Pace:
    """Return the pace at which all runs fit into `duration`. Raises UsageError if that is too fast to measure."""
    run = DEFAULT_RUN_SECONDS if duration is None else (duration - START_SECONDS) / runs
    if run < MIN_RUN_SECONDS:
        minimum = START_SECONDS + MIN_RUN_SECONDS * runs
        raise UsageError(f"demo: --duration {duration:g}: expected {minimum:g} or more, to see every run")
    return Pace(speed=SIMULATED_RUN_SECONDS / run, scrape_interval=max(0.5, run / 20))


def _stop_by_signal_or_after(duration: float | None) -> asyncio.Event:
    """An event of the first signal that asks to end, or of the end of `duration` seconds."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    if duration is not None:
        loop.call_later(duration, stop.set)
    return stop


async def _first_scrape(stack: Stack, processes: Processes, stop: asyncio.Event) -> None:
    """Wait until Prometheus has one, which takes longer than those that follow."""
    with Prometheus(stack.url("prometheus")) as prometheus:
        while not stop.is_set():
            with suppress(UserError):
                if await asyncio.to_thread(prometheus.query, "ase_up == 1"):
                    return
            processes.check()
            await asyncio.sleep(0.1)


async def _watch(server: SimulatedServer, stack: Stack, processes: Processes, stop: asyncio.Event) -> None:
    """Print a row for each run that was long enough when it ended."""
    print(*_HEADINGS, sep="\n", flush=True)
    run = _present(server)
    with Prometheus(stack.url("prometheus")) as prometheus:
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), POLL_SECONDS)
            processes.check()
            following = _present(server)
            if following.name != run.name or stop.is_set():
                end = time.time() if following.name == run.name else following.start
                if span := steady(run.start, end, stack.pace):
                    print(await asyncio.to_thread(_row, prometheus, run, span), flush=True)
                run = following


def _present(server: SimulatedServer) -> Run:
    """The run that goes on now."""
    step, clock = server.world.step, server.world.clock
    name, _, set_up = step.name.partition(": ")
    return Run(name, set_up, time.time() - (clock.seconds() - step.at) / clock.speed)


def _row(prometheus: Prometheus, run: Run, span: tuple[float, float]) -> str:
    """What was measured of a run, and what the case study prints of it."""
    try:
        figures = measured(prometheus, span)
    except UserError as error:
        raise UsageError(f"demo: {error}") from None
    texts = {figure: "-" if value is None else f"{value:.1f}" for figure, value in figures.items()}
    printed = published()[run.name]
    cells = [f"{texts[figure]}/{printed[figure]}".rjust(width) for figure, width in _WIDTHS.items()]
    return f"{run.name}: {run.set_up}\n{'':24}" + " ".join(cells)


def _print_alert(alert: Notification) -> None:
    # Each run begins with a dozen of changes.
    if alert.name != "AseChanged":
        subject = alert.labels.get("spinlock") or alert.labels.get("instance", "")
        # In one piece, as alerts arrive in several threads.
        print(f"    {alert.name} {alert.status}, {alert.receiver}: {subject}\n", end="", flush=True)
