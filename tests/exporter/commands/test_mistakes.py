"""Bad input of any command is one line that names its cause, and exit code 2: the lines of mistakes.yaml."""

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.commands.command_line import Ended, Run
from tests.exporter.compare.test_prometheus import server as web_server
from tests.exporter.simulated import Simulated
from tests.faults.login_server import ACCEPTED, closing, login_server
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml

Mistake = Mapping[str, Any]
TABLE = load_yaml(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))
USAGE: Mapping[str, str] = TABLE["usage"]
FIRST_HOUR: list[Mistake] = TABLE["first_hour"]

SAYS_WHAT_TO_DO = re.compile(
    "[Ee]xpect|[Dd]id you mean|Possible options|an option of|is not one of|requires an argument|this key is missing"
    "|Missing (argument|option)|(: |, |; )(put|use|install|change it in|give) |must be quoted|quoted that|--help"
    "|it has |has to |is not defined under|ase-exporter setup|Set "
)
# What takes a file, or a directory to write into.
READ = (
    "top --once --config.file",
    "top --once --replay",
    "serve --web.config.file",
    "setup -S 127.0.0.1:1 --login-password-file",
    "changes --url https://127.0.0.1:1 --ca-file",
    "changes --url http://127.0.0.1:1 --user me --password-file",
    "write rules --output DIR --thresholds",
    "sysmon parse",
)
WRITTEN = (
    "top --once -S 127.0.0.1:1 --record",
    "capture --output",
    "report -S A --prometheus http://127.0.0.1:1 --output",
    "write dashboards --output",
    "serve --web.listen-address 127.0.0.1:0 --state-dir",
)


@pytest.fixture(scope="module")
def filled(
    server: Simulated, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """A directory with files, and a function that fills their names and the ports into a text."""
    directory = tmp_path_factory.mktemp("mistakes")
    for name, text in {"password": server.password, "wrong": "wrong", "empty": "\n"}.items():
        (directory / name).write_text(text)
    for name, text in TABLE["catalogues"].items():
        (directory / name).mkdir()
        (directory / name / "mine.yaml").write_text(text)
    with server.login("sa") as query:
        query("exec sp_configure 'wait event timing', 0")
    host, port = server.address
    with (
        login_server(b"SSH-2.0-OpenSSH_9.2\r\nInvalid SSH identification string.\r\n") as ssh,
        login_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as http,
        login_server(b"\x15\x03\x01\x00\x02\x02\x16") as tls,
        web_server(b"", 400) as (web, _),
        login_server(ACCEPTED, closing) as trigger,
        socket.socket() as closed,
    ):
        closed.bind(("127.0.0.1", 0))  # bound, but not listening: refuses
        names = {
            "here": Path.cwd(),
            "host": host,
            "port": port,
            "ssh": ssh.port,
            "http": http.port,
            "tls": tls.port,
            "web": web,
            "trigger": trigger.port,
            "closed": closed.getsockname()[1],
        }
        yield directory, lambda text: text.format(directory=directory, **names)


def refused(result: Ended) -> str:
    """What a command prints for bad input, behind `ase-exporter: `: not the fault alone, but what was expected, too."""
    assert result.returncode == 2, result.stdout
    assert result.stderr.startswith("ase-exporter: ") and result.stderr.endswith("\n")
    assert SAYS_WHAT_TO_DO.search(result.stderr)
    return result.stderr[len("ase-exporter: ") : -1]


@pytest.mark.parametrize("arguments", USAGE)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Run, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("ASE_")]:
        monkeypatch.delenv(name)
    result = run(*shlex.split(arguments))
    line = refused(result)
    assert USAGE[arguments] in line and "\n" not in line
    assert result.stdout == ""


@pytest.mark.parametrize("mistake", FIRST_HOUR, ids=[each["name"] for each in FIRST_HOUR])
def test_a_mistake_is_one_line_that_names_its_cause(
    run: Run, mistake: Mistake, filled: tuple[Path, Callable[[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, fill = filled
    (directory / "exporter.yaml").write_text(fill(mistake.get("file", "{{}}")))
    environment = {
        "ASE_HOST": "127.0.0.1",
        "ASE_PORT": "{port}",
        "ASE_USER": "monitor",
        "ASE_PASSWORD_FILE": "{directory}/password",
        **mistake.get("environment", {}),
    }
    for name in environment:
        monkeypatch.delenv(name, raising=False)
    check = "check --config.file={directory}/exporter.yaml" if "file" in mistake else "check"
    result = run(
        *fill(mistake.get("arguments", check)).split(),
        **{name: fill(value) for name, value in environment.items() if value},
    )
    if "output" in mistake:
        assert result.returncode == 1
        assert fill(mistake["output"]) in result.stdout
        return
    assert refused(result) == fill(mistake["error"])


@pytest.mark.parametrize("command", READ)
@pytest.mark.parametrize("wrong", ["nowhere", "file/below", "binary", "directory", "fifo"])
def test_a_file_that_cannot_be_read_is_a_line_that_says_what_was_expected(
    run: Run, tmp_path: Path, command: str, wrong: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "binary").write_bytes(b"\xfe\0\xff\n")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    if (command, wrong) != ("sysmon parse", "fifo"):
        assert str(tmp_path / wrong) in refused(run(*command.split(), str(tmp_path / wrong), DSQUERY=""))


@pytest.mark.parametrize("command", WRITTEN)
def test_a_file_that_cannot_be_written_is_a_line_that_says_what_was_expected(
    run: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").touch()
    line = refused(run(*command.split(), str(tmp_path / "file" / "below"), ASE_USER="a", ASE_PASSWORD="b"))
    assert str(tmp_path / "file") in line


def test_each_line_that_the_documents_explain_is_one_of_these() -> None:
    page = (REPOSITORY / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    section = page.partition("## What a line means\n")[2].partition("\n## ")[0]
    explained = [row.split(" | ")[0].strip("| `") for row in section.splitlines() if row.startswith("| `")]
    errors = [*USAGE.values(), *(str(each.get("error", "")) for each in FIRST_HOUR)]
    assert len(explained) >= 12
    assert not [line for line in explained if not any(line in error for error in errors)]


@pytest.mark.parametrize(
    ("drivers", "expected"),
    [
        (
            "",
            "the ODBC driver FreeTDS is not installed (no [FreeTDS] in {drivers}): install tdsodbc or freetds",
        ),
        (
            "[FreeTDS]\nDriver = /nowhere/libtdsodbc.so\n",
            "the ODBC driver FreeTDS cannot be loaded: [FreeTDS] in {drivers} names /nowhere/libtdsodbc.so,"
            " which is missing or of another architecture",
        ),
    ],
    ids=["no section", "a broken path"],
)
def test_a_driver_that_cannot_be_loaded_is_named(tmp_path: Path, drivers: str, expected: str) -> None:
    """In a process of its own, because unixODBC reads odbcinst.ini once."""
    (tmp_path / "odbcinst.ini").write_text(drivers)
    environment = os.environ | {
        "ODBCSYSINI": str(tmp_path),
        "ASE_HOST": "127.0.0.1",
        "ASE_USER": "monitor",
        "ASE_PASSWORD": "unused",
    }
    command = [sys.executable, "-m", "ase_exporter", "check"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    line = expected.format(drivers=tmp_path / "odbcinst.ini")
    assert result.returncode == 2
    assert result.stderr == f"ase-exporter: target 127.0.0.1: {line}\n"
