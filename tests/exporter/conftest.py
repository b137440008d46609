"""The command line run in this process, and a scripted server for one connection."""

import os
import socket
import sys
from collections.abc import Iterator

import pytest
from tests.exporter.commands.command_line import Ended, Run
from tests.simulator.tds.running import Running, running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_exporter import cli
from ase_exporter.ase.login_ledger import process_ledger
from ase_simulator.faults import Faults
from ase_simulator.server import Listener


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command line in this process. Keywords are environment variables."""

    def execute(program: str, arguments: list[str]) -> None:
        """Run the supervisor in this process, too, and the process that serves, which ends before it serves."""
        words = arguments[arguments.index("ase_exporter") :]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr("os.fork", lambda: 0)
        cli.main()

    def command(*arguments: str, **environment: str) -> Ended:
        os.umask(umask := os.umask(0))
        try:
            return in_process(*arguments, **environment)
        finally:
            os.umask(umask)

    def in_process(*arguments: str, **environment: str) -> Ended:
        # A new process knows of refusals what the file says.
        process_ledger.cache_clear()
        monkeypatch.setattr(sys, "argv", ["ase-exporter", *arguments])
        monkeypatch.setattr("os.execv", execute)
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as ended:
            for name, value in environment.items():
                patch.setenv(name, value)
            cli.main()
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return command


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def server(backend: ScriptedBackend, faults: Faults) -> Iterator[Running]:
    with running(lambda: Listener(backend, faults=faults)) as run:
        yield run


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    """A port that refuses connections: bound, so that nobody else can take it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run on asyncio."""
    return "asyncio"
