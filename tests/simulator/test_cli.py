"""The command ase-simulator, run as users run it."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.paths import REPOSITORY
from tests.simulator.tds.raw import RawClient, done

from ase_simulator.cli import main


@contextmanager
def simulator(*options: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A running simulator and the ports that it printed."""
    command = [sys.executable, "-m", "ase_simulator", "--port", "0", *options]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "simulator"), **more}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as program:
        assert program.stdout is not None
        try:
            line = program.stdout.readline()
            found = re.fullmatch(r"ase-simulator: \w+ listens on 127\.0\.0\.1:(\d+)\n", line)
            assert found, line
            yield program, [int(found[1])]
        finally:
            program.kill()


def logs_in(port: int, user: str, password: str) -> bool:
    with RawClient(port) as client:
        return client.login(user, password).endswith(done(0))


def test_it_says_where_it_listens_knows_its_logins_and_ends_though_a_batch_runs() -> None:
    with (
        simulator("--login", "sa:one", "--login", "probe:a:b") as (program, (port,)),
        RawClient(port) as client,
    ):
        assert logs_in(port, "probe", "a:b")
        assert not logs_in(port, "sa", "")
        assert client.login("sa", "one").endswith(done(0))
        client.send("waitfor delay '00:10:00'")
        assert ends(program, signal.SIGTERM)


def test_logins_of_the_environment_and_a_clock_that_stands_still() -> None:
    with simulator("--speed", "0", ASE_SIMULATOR_LOGIN="sa:two probe:three") as (program, (port,)):
        assert logs_in(port, "probe", "three")
        with RawClient(port) as client:
            assert client.login("sa", "two").endswith(done(0))
            query = "select Grabs from master..monSpinlockActivity"
            first, second = (client.ask(query) for _ in range(2))
            assert first == second
            assert first.count(b"\xd1") > 10
        assert ends(program, signal.SIGINT)


def ends(program: "subprocess.Popen[str]", number: signal.Signals) -> bool:
    """Whether the program ends at a signal without an error."""
    program.send_signal(number)
    assert program.stderr is not None
    return (program.wait(60), program.stderr.read()) == (0, "")


def refused(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    """The error output of the command when it exits with code 2; it runs in this process."""
    monkeypatch.setattr(sys, "argv", ["ase-simulator", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capfd.readouterr()
    assert said.out == ""
    return said.err


def test_a_busy_port_gets_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = refused(monkeypatch, capfd, "--port", str(port))
    assert message == f"ase-simulator: 127.0.0.1:{port}: cannot listen there: Address already in use\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "nonsense"], r"nonsense: no such scenario; there are .*memscale.*"),
        (["--version", "9"], r"--version 9: no such profile; there are .*16\.0 SP04.*"),
        (["--login", "secret"], r"--login: expected USER:PASSWORD"),
        (["--host", "256.1.1.1"], r"256\.1\.1\.1:5000: cannot listen there: .*"),
    ],
)
def test_bad_input_gets_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert re.fullmatch(f"ase-simulator: {message}\n", refused(monkeypatch, capfd, *options))
