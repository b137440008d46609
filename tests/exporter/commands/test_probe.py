"""`probe` prints the server's own counter values and, with --seconds, rates."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Ended, Run
from tests.exporter.simulated import Simulated
from tests.exporter.simulated import run as simulated

Samples = dict[str, float]


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    """A server whose clock runs fast, so that its counters are large within seconds."""
    with simulated("16.0 SP04", "quiet-oltp", speed=600) as running:
        with running.login("sa") as query:
            for option in ("enable monitoring", "errorlog pipe active", "per object statistics active"):
                query(f"exec sp_configure '{option}', 1")
        yield running


@pytest.fixture
def probe(run: Run, server: Simulated, tmp_path: Path) -> Run:
    """A function that probes the server with the options given."""
    (tmp_path / "password").write_text(server.password)
    host, port = server.address

    def command(*options: str) -> Ended:
        return run(
            "probe",
            "--timeout=60",
            *options,
            ASE_HOST=host,
            ASE_PORT=str(port),
            ASE_USER="monitor",
            ASE_PASSWORD_FILE=str(tmp_path / "password"),
        )

    return command


def samples(text: str) -> Samples:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def judged(text: str) -> tuple[int, str]:
    """Exit code and complaints of promtool."""
    promtool = shutil.which("promtool")
    assert promtool, "promtool is part of Debian's package prometheus"
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    return done.returncode, done.stderr


def own_values(server: Simulated) -> dict[str, int]:
    with server.login("monitor") as query:
        ((transactions,),) = query("select Transactions from master..monState")
        grabs = query(
            "select SpinlockName, sum(Grabs) from master..monSpinlockActivity where Grabs > 0 group by SpinlockName"
        )
    return {"ase_transactions_total": transactions} | {str(name): int(count) for name, count in grabs}


def test_counters_are_the_servers_own_values_as_a_comment_says_and_events_in_a_pipe_are_counted(
    probe: Run, server: Simulated
) -> None:
    with server.login("monitor") as query:
        in_pipe = len(query("select ErrorNumber from master..monErrorLog"))
    before = own_values(server)
    result = probe()
    after = own_values(server)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("# Counters: the server's own values")
    assert "_per_second" not in result.stdout
    assert judged(result.stdout) == (0, "")
    printed = samples(result.stdout)
    assert before["ase_transactions_total"] > 0
    name = "ase_transactions_total"
    assert before[name] <= printed[name] <= after[name]
    grabs = {
        re.findall(r'spinlock="([^"]*)"', series)[0]: value
        for series, value in printed.items()
        if series.startswith("ase_spinlock_grabs_total{")
    }
    assert grabs
    assert [name for name, value in grabs.items() if not before[name] <= value <= after[name]] == []

    counted = sum(value for name, value in printed.items() if name.startswith("ase_error_log_messages_total"))
    assert counted >= in_pipe > 0


def test_with_seconds_every_counter_has_a_rate(probe: Run, server: Simulated) -> None:
    before = own_values(server)["ase_transactions_total"]
    result = probe("--seconds=2")
    after = own_values(server)["ase_transactions_total"]
    assert result.returncode == 0, result.stderr
    printed = samples(result.stdout)
    assert before <= printed["ase_transactions_total"] <= after
    assert printed["ase_transactions_per_second"] > 0
    assert printed["ase_transactions_per_second"] * 2 <= after - before
    of_spinlocks = {name: value for name, value in printed.items() if "_spinlock_grabs_" in name}
    totals = {name for name in of_spinlocks if "_total{" in name}
    rates = {name for name in of_spinlocks if "_per_second{" in name}
    assert rates and {name.replace("_per_second{", "_total{") for name in rates} <= totals
    assert judged(result.stdout) == (0, "")


def test_collectors_with_an_interval_of_their_own_are_read_twice_too(
    probe: Run, server: Simulated, tmp_path: Path
) -> None:
    host, port = server.address
    (tmp_path / "exporter.yaml").write_text(
        f"targets: [{{name: ASE1, host: {host}, port: {port}, budget: 0.0001%}}]\n"
        f"auth: {{default: {{user: monitor, password_file: {tmp_path}/password}}}}\n"
        "modules: {default: {collectors: {objects: true}}}\n"
    )
    printed = samples(probe("--seconds=2", f"--config.file={tmp_path}/exporter.yaml").stdout)
    rates = [
        value for name, value in printed.items() if name.startswith("ase_object_logical_reads_per_second")
    ]
    assert rates and sum(rates) > 0


def test_a_target_that_cannot_be_reached_is_one_line(run: Run, tmp_path: Path) -> None:
    result = run(
        "probe", "--seconds=5", ASE_HOST="127.0.0.1", ASE_PORT="1", ASE_USER="monitor", ASE_PASSWORD="x"
    )
    assert result.returncode == 2
    assert result.stderr == "ase-exporter: target 127.0.0.1: 127.0.0.1:1 refused the connection\n"
    assert "ase_up 0" in result.stdout
