"""The command ase-simulator, run as users run it."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.exporter.web.authority import Authority
from tests.paths import REPOSITORY
from tests.simulator.tds.raw import RawClient

COMMAND = [sys.executable, "-m", "ase_simulator"]
SIMULATOR = REPOSITORY / "simulator"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SIMULATOR), **more}


@contextmanager
def simulator(*options: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A running simulator and the ports that it printed."""
    command = [*COMMAND, "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**more)
    ) as program:
        assert program.stdout is not None
        try:
            line = program.stdout.readline()
            found = re.fullmatch(r"ase-simulator: \w+ listens on 127\.0\.0\.1:(\d+)\n", line)
            assert found, line
            yield program, [int(found[1])]
        finally:
            program.kill()


def refused(*options: str, **more: str) -> str:
    """The error output of the command when it exits with code 2."""
    ended = subprocess.run(
        [*COMMAND, *options], capture_output=True, text=True, env=environment(**more), timeout=60, check=False
    )
    assert ended.returncode == 2, ended
    assert ended.stdout == ""
    return ended.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_at_a_signal_though_a_batch_runs(number: signal.Signals) -> None:
    with simulator() as (program, (port,)), RawClient(port) as client:
        assert client.login("sa", "")[-1]["status"] == 0
        client.send(client.codec.language("waitfor delay '00:10:00'"))
        program.send_signal(number)
        assert program.wait(60) == 0
        assert program.stderr is not None
        assert program.stderr.read() == ""


def test_logins_come_from_the_command_line_or_the_environment() -> None:
    with simulator("--login", "sa:one", "--login", "probe:a:b") as (_, (port,)):
        assert logs_in(port, "sa", "one")
        assert logs_in(port, "probe", "a:b")
        assert not logs_in(port, "sa", "")
    with simulator(ASE_SIMULATOR_LOGIN="sa:two probe:three") as (_, (port,)):
        assert logs_in(port, "sa", "two")
        assert logs_in(port, "probe", "three")


def logs_in(port: int, user: str, password: str) -> bool:
    with RawClient(port) as client:
        return bool(client.login(user, password)[-1]["status"] == 0)


def test_tls_is_spoken_where_a_certificate_is_given(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    with simulator("--tls-cert", certificate, "--tls-key", key) as (_, (port,)):
        client = RawClient(port)
        context = ssl.create_default_context(cafile=str(authority.file))
        client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
        with client:
            assert client.login("sa", "")[-1]["status"] == 0
            assert client.ask(client.codec.language("select @@version"))[1].name == "ROW"


def test_a_frozen_server_repeats_its_first_answer() -> None:
    query = "select Grabs from master..monSpinlockActivity"
    with simulator("--frozen", "--speed", "1000") as (_, (port,)), RawClient(port) as client:
        client.login("sa", "")
        first, second = (client.ask(client.codec.language(query)) for _ in range(2))
    assert first == second
    assert len(first) > 10


def test_a_busy_port_gets_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = refused("--port", str(port))
    assert re.fullmatch(
        rf"ase-simulator: 127\.0\.0\.1:{port}: cannot listen there: Address already in use\n", message
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "nonsense"], r"nonsense: no such scenario; there are .*memscale.*"),
        (["--version", "9"], r"--version 9: no such profile; there are .*16\.0 SP04.*"),
        (["--login", "secret"], r"--login: expected USER:PASSWORD"),
        (["--tls-cert", "a.pem"], r"--tls-cert and --tls-key: expected both or neither"),
        (
            ["--tls-cert", "a.pem", "--tls-key", "b.pem"],
            r"--tls-cert a\.pem, --tls-key b\.pem: .*No such file.*",
        ),
        (["--host", "256.1.1.1"], r"256\.1\.1\.1:5000: cannot listen there: .*"),
    ],
)
def test_bad_input_gets_one_clear_line(options: list[str], message: str) -> None:
    assert re.fullmatch(f"ase-simulator: {message}\n", refused(*options))
