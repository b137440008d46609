"""The command `ase-simulator`: serves the servers of a scenario until SIGTERM or Ctrl-C, or runs the demo."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ase_simulator.model import ScenarioError, load_scenario
from ase_simulator.schema.profiles import profiles
from ase_simulator.server import Listener
from ase_simulator.simulation import simulation
from ase_simulator.sql.logins import FULL, Login
from ase_simulator.usage import UsageError


class _PlainFlags:
    """A command whose help shows no type of flags, as they take no value."""

    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if parameter.is_flag:
                parameter.metavar = ""
        return found


class _Command(_PlainFlags, typer.core.TyperCommand):
    pass


class _Group(_PlainFlags, typer.core.TyperGroup):
    pass


app = typer.Typer(
    name="ase-simulator",
    cls=_Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# Listens on a port of an address.
Listen = Callable[[int], AbstractAsyncContextManager[Listener]]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            max=65535,
            help="Port of the first server; further servers use the next ports. 0: any free ports.",
        ),
    ] = 5000,
    login: Annotated[
        list[str] | None,
        typer.Option(
            metavar="USER:PASSWORD",
            envvar="ASE_SIMULATOR_LOGIN",
            help="A login. May be repeated; in the environment variable, separate logins by blanks. `sa` has "
            "every role, other logins have mon_role only. Default: `sa` without a password, and "
            "ase_exporter:exporter.",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE", help="Version of ASE, for example '15.7 SP138'. Default: the scenario's."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")] = 1,
    speed: Annotated[
        float, typer.Option(metavar="NUMBER", min=0.0, help="Simulated seconds per second.")
    ] = 1.0,
    scenario: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Built-in scenario or scenario file.")
    ] = "memscale",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="End a batch that asks for what is not simulated (message 20999)."),
    ] = False,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="Give the answers that `ase-exporter capture` recorded, scrape by scrape, instead of a scenario's.",
        ),
    ] = None,
) -> None:
    """A simulated SAP ASE that speaks TDS 5.0: serves a scenario, or a capture, until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand:
        return
    logging.basicConfig(level=logging.WARNING, format="ase-simulator: %(message)s")
    logins = [_login(entry) for entry in login] if login else None
    if replay is not None:
        if version:
            raise UsageError("--replay: the answers are those of the capture: expected no --version")
        with _needs_exporter("--replay", "replay"):
            from ase_exporter.errors import UserError
            from ase_simulator.replay.backend import ReplayBackend
            from ase_simulator.replay.file import read_capture
        try:
            backend = ReplayBackend(read_capture(replay), logins)
        except UserError as error:
            raise UsageError(f"--replay {error}") from error
        asyncio.run(_serve([lambda wanted: Listener(backend, host, wanted)], [backend.name], host, port))
        return
    if version and version not in profiles():
        raise UsageError(f"--version {version}: no such profile; there are {', '.join(profiles())}")
    try:
        servers = load_scenario(scenario, seed=seed, speed=speed, version=version)
    except ScenarioError as error:
        raise UsageError(str(error)) from error
    for each in servers:
        each.faults.strict = strict
    listeners = [partial(simulation, each, logins, host) for each in servers]
    asyncio.run(_serve(listeners, [server.name for server in servers], host, port))


@app.command(cls=_Command)
def demo(
    duration: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Seconds to run, all runs included (default: until Ctrl-C)."),
    ] = None,
    port_base: Annotated[
        int, typer.Option(metavar="NUMBER", help="First of seven consecutive ports to use.")
    ] = 10150,
    directory: Annotated[Path, typer.Option(metavar="DIR", help="Directory of logs and data.")] = Path(
        ".demo"
    ),
) -> None:
    """Replay the Memscale case study on loopback: simulated ASE, exporter, Prometheus, Alertmanager."""
    with _needs_exporter("demo", "demo"):
        from ase_simulator.demo.runner import run_demo
    asyncio.run(run_demo(duration, port_base, directory))


def main() -> None:
    """Entry point. Bad input: one line on stderr, exit code 2."""
    try:
        app()
    except UsageError as error:
        print(f"ase-simulator: {error}", file=sys.stderr)
        sys.exit(2)


@contextmanager
def _needs_exporter(what: str, extra: str) -> Iterator[None]:
    """Raise UsageError with what to install if an import fails within the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = f"{sys.executable} -m pip install 'ase-simulator[{extra}]'"
        raise UsageError(f"{what} needs {error.name}, which is not installed: {install}") from None


def _login(entry: str) -> Login:
    user, separator, password = entry.partition(":")
    if not separator or not user:
        raise UsageError("--login: expected USER:PASSWORD")
    return Login(user, password, roles=list(FULL) if user == "sa" else ["mon_role"])


async def _serve(listen: Sequence[Listen], names: Sequence[str], host: str, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as listeners:
        for index, (name, listener_on) in enumerate(zip(names, listen, strict=True)):
            wanted = port + index if port else 0
            try:
                listener = await listeners.enter_async_context(listener_on(wanted))
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
                raise UsageError(f"{host}:{wanted}: cannot listen there: {reason}") from error
            except OverflowError:
                raise UsageError(f"--port {port}: {len(listen)} servers need as many ports") from None
            address, bound = listener.address
            print(f"ase-simulator: {name} listens on {address}:{bound}", flush=True)
        await stop.wait()
