"""The command `ase-simulator`: serves the servers of a scenario until it is told to end."""

import asyncio
import logging
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer

from ase_simulator.contracts import Server
from ase_simulator.model import ScenarioError, load_scenario
from ase_simulator.schema.profiles import profiles
from ase_simulator.simulation import simulation
from ase_simulator.sql.logins import FULL, Login

app = typer.Typer(
    name="ase-simulator",
    help="A server that speaks TDS 5.0 and behaves like SAP ASE under load.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class UsageError(Exception):
    """Bad input: one line that says what, where and what was expected."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the first server, others follow; 0: any free ones.")
    ] = 5000,
    login: Annotated[
        list[str] | None,
        typer.Option(
            metavar="USER:PASSWORD",
            envvar="ASE_SIMULATOR_LOGIN",
            help="A login; may be repeated (in the environment: parted by blanks). sa has every role, others "
            "have mon_role alone. Default: sa without a password, ase_exporter:exporter.",
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="PROFILE", help="Version of ASE, such as '15.7 SP138'.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 1,
    speed: Annotated[float, typer.Option(min=0.0, help="Simulated seconds in a second.")] = 1.0,
    scenario: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="What the server lives through.")
    ] = "memscale",
    tls_cert: Annotated[Path | None, typer.Option(help="PEM certificate: all connections use TLS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM key of the certificate.")] = None,
    frozen: Annotated[
        bool,
        typer.Option(
            "--frozen", help="Answer each query for ever as first answered, for benchmarks of clients."
        ),
    ] = False,
) -> None:
    """Serve a scenario; ends at SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.WARNING, format="ase-simulator: %(message)s")
    logins = [_login(entry) for entry in login] if login else None
    tls = _tls(tls_cert, tls_key)
    if version and version not in profiles():
        raise UsageError(f"--version {version}: no such profile; there are {', '.join(profiles())}")
    try:
        servers = load_scenario(scenario, seed=seed, speed=speed, version=version)
    except ScenarioError as error:
        raise UsageError(str(error)) from error
    asyncio.run(_serve(servers, logins, host, port, tls, frozen=frozen))


def main() -> None:
    """Entry point. Bad input: one line on stderr, exit code 2."""
    try:
        app()
    except UsageError as error:
        print(f"ase-simulator: {error}", file=sys.stderr)
        sys.exit(2)


def _login(entry: str) -> Login:
    user, separator, password = entry.partition(":")
    if not separator or not user:
        raise UsageError("--login: expected USER:PASSWORD")
    return Login(user, password, roles=list(FULL) if user == "sa" else ["mon_role"])


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UsageError("--tls-cert and --tls-key: expected both or neither")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--tls-cert {certificate}, --tls-key {key}: {error}") from error
    return context


async def _serve(
    servers: Sequence[Server],
    logins: Sequence[Login] | None,
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    *,
    frozen: bool,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as listeners:
        for index, server in enumerate(servers):
            wanted = port + index if port else 0
            try:
                running = simulation(server, logins, host, wanted, tls, frozen=frozen)
                listener = await listeners.enter_async_context(running)
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
                raise UsageError(f"{host}:{wanted}: cannot listen there: {reason}") from error
            except OverflowError:
                raise UsageError(f"--port {port}: {len(servers)} servers need as many ports") from None
            address, bound = listener.address
            print(f"ase-simulator: {server.name} listens on {address}:{bound}", flush=True)
        await stop.wait()
