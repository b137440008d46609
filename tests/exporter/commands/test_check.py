"""`check`: every target, the configuration alone, every collector executed, and the statements for review."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Ended, Run
from tests.exporter.simulated import Simulated
from tests.faults.login_server import login_server

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.checks.target_check import CollectorFailure, TargetReport, usual_cause
from ase_exporter.checks.view import check_view
from ase_exporter.views.terminal import print_view
from ase_simulator.faults import Break

CUSTOM = Path(__file__).with_name("custom.yaml").read_text(encoding="utf-8")
# The command, which gives a driver that hangs little time.
IMPATIENT = """
from ase_exporter import cli
from ase_exporter.ase.timing import TIMING
TIMING.stuck_after = TIMING.login_stuck_after = 0.5
cli.main()
"""


@pytest.fixture
def configured(server: Simulated, tmp_path: Path) -> Path:
    """A configuration with two targets on that server, and custom metrics in a directory."""
    (tmp_path / "password").write_text(server.password)
    (tmp_path / "metrics").mkdir()
    host, port = server.address
    file = tmp_path / "exporter.yaml"
    file.write_text(
        f"targets:\n"
        f"- {{name: ASE1, host: {host}, port: {port}}}\n"
        f"- {{name: ASE2, host: {host}, port: {port}, auth: admin}}\n"
        f"auth:\n"
        f"  default: {{user: monitor, password_file: {tmp_path}/password}}\n"
        f"  admin: {{user: sa, password_file: {tmp_path}/password}}\n"
        f"catalogue: {{directories: [{tmp_path}/metrics]}}\n"
    )
    return file


@pytest.fixture
def check(run: Run, configured: Path) -> Run:
    """A function that runs check with that configuration."""

    def command(*options: str) -> Ended:
        return run("check", f"--config.file={configured}", "--timeout=120", *options, COLUMNS="200")

    return command


def test_every_target_is_checked(check: Run) -> None:
    result = check()
    assert result.returncode == 0, result.stdout + result.stderr
    assert [line for line in result.stdout.splitlines() if line.startswith("ASE")] == [
        "ASE1: ORDERS, ASE 16.0 SP04 PL03",
        "ASE2: ORDERS, ASE 16.0 SP04 PL03",
    ]
    first, second = result.stdout.split("ASE2: ")
    # It has databases that the login does not enter.
    assert "No metric is missing." in first and "Nothing is missing." in second
    assert "sa_role" not in first
    assert "the login sa has sa_role" in second and "revoke role sa_role from sa" in second


def test_a_target_that_cannot_be_reached_does_not_cost_the_others(check: Run, configured: Path) -> None:
    text = configured.read_text()
    configured.write_text(text.replace("targets:\n", "targets:\n- {name: GONE, host: 127.0.0.1, port: 1}\n"))
    result = check("--target=GONE", "--target=ASE2")
    assert result.returncode == 2
    assert result.stderr.startswith(
        "ase-exporter: target GONE: 127.0.0.1:1 refused the connection: expected "
    )
    assert result.stderr.count("\n") == 1
    assert "ASE2:" in result.stdout and "ASE1:" not in result.stdout


def test_offline_checks_the_file_alone(check: Run, configured: Path, server: Simulated) -> None:
    text = configured.read_text()
    configured.write_text(text.replace(str(server.address[1]), "1"))
    result = check("--offline")
    assert (result.returncode, result.stderr) == (0, "")
    assert "exporter.yaml: 2 targets" in result.stdout
    configured.write_text(text + "modules: {default: {collectors: {spinlok: true}}}\n")
    result = check("--offline")
    assert result.returncode == 2
    assert "modules.default.collectors.spinlok: no such collector" in result.stderr
    configured.write_text(text + "scarpe: {}\n")
    assert check("--offline").returncode == 2
    configured.write_text(text)
    result = check("--offline", "--sql")
    assert result.returncode == 2
    assert result.stderr.startswith("ase-exporter: --sql: ")


def test_collectors_are_executed_and_the_servers_message_is_shown(check: Run, configured: Path) -> None:
    (configured.parent / "metrics" / "mine.yaml").write_text(CUSTOM)
    result = check("--target=ASE1")
    assert result.returncode == 1
    assert "reading broken failed: Msg 207: Invalid column name 'nothing'." in result.stdout
    assert "costs 1 metric of broken:\n  ase_custom_nothing" in result.stdout
    assert "reading wordy failed: wordy: column name holds" in result.stdout
    assert "costs 1 metric of wordy:\n  ase_custom_words" in result.stdout


def test_a_connection_that_a_collector_costs_is_opened_again(
    check: Run, configured: Path, server: Simulated
) -> None:
    (configured.parent / "metrics" / "mine.yaml").write_text(CUSTOM)
    server.faults.broken, server.faults.only = Break("close"), "monCachePool"
    try:
        result = check("--target=ASE1")
    finally:
        server.faults.broken, server.faults.only = None, ""
    assert "reading cache_pools failed" in result.stdout
    assert "reading broken failed: Msg 207" in result.stdout


def test_a_proxy_table_without_its_server_is_explained() -> None:
    assert "sp_addserver loopback" in usual_cause("Msg 7205: Can't open a connection to site 'LOOPBACK'.")
    assert "enable cis" in usual_cause("Msg 4050: Component Integration Services not enabled.")
    assert "enable cis" in usual_cause("Msg 11206: Unable to connect to server 'ORDERS'.")
    assert usual_cause("Msg 207: Invalid column name 'nothing'.") == ""


@pytest.mark.parametrize("login", ["o\u2019brien", "a" * 256])
def test_a_login_that_sql_cannot_hold_costs_the_script_alone(
    login: str, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = ServerFacts(parse_version("16.0 SP04"), roles=frozenset({"sa_role"}))
    refused = "[42000] SELECT permission denied on object '\uff53ysusers', database 'master'"
    failures = [CollectorFailure(refused, "", ("state",), ())]
    report = TargetReport("A", "sa", facts, (), failures, 1, (0, 0), ())
    print_view(check_view(report))
    assert "revoke role sa_role from sa" in (shown := capsys.readouterr().out)
    assert "grant select" not in shown
    print_view(check_view(replace(report, login=login)))
    assert "cannot be written in SQL safely" in (shown := capsys.readouterr().out)
    assert "revoke role" not in shown


def test_statements_are_printed_for_review(check: Run, configured: Path) -> None:
    text = configured.read_text()
    configured.write_text(text.replace("auth: admin}", "auth: admin, sysmon: {auth: admin}}"))
    assert "sp_sysmon '00:01:00', 'noclear'\ngo\n" in check("--sql", "--target=ASE2").stdout
    result = check("--sql", "--target=ASE1")
    assert result.returncode == 0, result.stderr
    assert "sp_sysmon" not in result.stdout
    assert result.stdout.startswith("-- What ase-exporter sends to ASE1, ASE 16.0 SP04 PL03.")
    batches = [part for part in result.stdout.split("\ngo\n") if part.strip()]
    assert any("from master..monSpinlockActivity" in batch for batch in batches)
    assert any("from master..sysconfigures" in batch for batch in batches)
    assert any("sybsecurity..ch_events" in batch for batch in batches)
    assert "-- collector spinlocks: in every scrape\n" in result.stdout
    assert "-- collector locks: at most every 15 s\n" in result.stdout


def test_a_driver_that_does_not_come_back_ends_the_check(tmp_path: Path) -> None:
    # The token announces more than the packet holds: FreeTDS looks for the rest for ever.
    with login_server(b"\x04\x01\xff\xff\0\0\0\0\xe5\xff\xff".ljust(0x10000, b"A")) as server:
        target = f"targets: [{{name: A, host: 127.0.0.1, port: {server.port}}}]"
        login = "auth: {default: {user: x, password: y-planted}}"
        (tmp_path / "x.yaml").write_text(f"{target}\n{login}\n")
        command = [sys.executable, "-c", IMPATIENT, "check", "--timeout=2"]
        ended = subprocess.run(
            [*command, f"--config.file={tmp_path / 'x.yaml'}"], capture_output=True, text=True, timeout=120
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("ase-exporter: ") and ended.stderr.count("\n") == 1
