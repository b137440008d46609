"""The commonest mistakes of the first hour: each gives one line that names its cause."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.simulated import Simulated
from tests.exporter.simulated import run as simulated

TARGET = "targets: [{{name: ASE1, host: {host}, port: {port}}}]\n"
AUTH = "auth: {{default: {{user: monitor, password_file: {directory}/password}}}}\n"
NOT_TDS = "something listens there, but it does not speak TDS: is this the port of ASE?"


class Mistake(NamedTuple):
    """A command line, what it finds, and the line that it must print on stderr.

    environment: on top of a good one. file: content of exporter.yaml, in which `{directory}`, `{host}` and `{port}`
    are replaced, as they are in arguments and expected. output: expected on stdout instead, with exit code 1.
    """

    name: str
    arguments: str
    expected: str
    environment: Mapping[str, str] = MappingProxyType({})
    file: str = ""
    output: bool = False


MISTAKES = [
    Mistake(
        "no target at all",
        "check",
        "no target: give --config.file with targets, or set ASE_HOST, ASE_USER and ASE_PASSWORD_FILE",
        {"ASE_HOST": ""},
    ),
    Mistake(
        "ASE_USER forgotten",
        "probe",
        "environment: ASE_USER: expected the login to use for ASE_HOST",
        {"ASE_USER": ""},
    ),
    Mistake(
        "no password",
        "probe",
        "environment: expected ASE_PASSWORD_FILE (or ASE_PASSWORD) for ASE_USER",
        {"ASE_PASSWORD_FILE": ""},
    ),
    Mistake(
        "the password file does not exist",
        "probe",
        "target 127.0.0.1: password file {directory}/nowhere: No such file or directory",
        {"ASE_PASSWORD_FILE": "{directory}/nowhere"},
    ),
    Mistake(
        "the password file is empty",
        "probe",
        "target 127.0.0.1: password file {directory}/empty: expected a password, found nothing",
        {"ASE_PASSWORD_FILE": "{directory}/empty"},
    ),
    Mistake(
        "the password file is sought in another directory",
        "probe",
        "target 127.0.0.1: password_file (relative to {here}): No such file or directory",
        {"ASE_PASSWORD_FILE": "ase_password_that_is_not_here"},
    ),
    Mistake(
        "host and port in one",
        "probe",
        "environment: ASE_HOST: expected a host name or an address without a port; the port has a setting of its own"
        " (ASE_PORT, or `port` in the file)",
        {"ASE_HOST": "127.0.0.1:5000"},
    ),
    Mistake(
        "a port that is no number",
        "probe",
        "environment: ASE_PORT: expected a port number from 1 to 65535",
        {"ASE_PORT": "SYBASE"},
    ),
    Mistake(
        "a misspelt host",
        "probe",
        "target nowhere.invalid: nowhere.invalid: no such host",
        {"ASE_HOST": "nowhere.invalid"},
    ),
    Mistake(
        "nothing listens on the port",
        "probe",
        "target 127.0.0.1: 127.0.0.1:{closed} refused the connection",
        {"ASE_PORT": "{closed}"},
    ),
    Mistake(
        "the port of SSH",
        "probe",
        "target 127.0.0.1: 127.0.0.1:{ssh}: " + NOT_TDS,
        {"ASE_PORT": "{ssh}"},
    ),
    Mistake(
        "the port of a web server",
        "probe",
        "target 127.0.0.1: 127.0.0.1:{http}: " + NOT_TDS,
        {"ASE_PORT": "{http}"},
    ),
    Mistake(
        "a wrong password",
        "probe",
        "target 127.0.0.1: Msg 4002: 127.0.0.1:{port} refused the login: Login failed.",
        {"ASE_PASSWORD_FILE": "{directory}/wrong"},
    ),
    Mistake(
        "mon_role not granted", "check", "  grant role mon_role to nobody", {"ASE_USER": "nobody"}, "", True
    ),
    Mistake("an option is off", "check", "  exec sp_configure 'wait event timing', 1", {}, "", True),
    Mistake(
        "no such configuration file",
        "check --config.file={directory}/none.yaml",
        "{directory}/none.yaml: cannot be read: No such file or directory",
    ),
    Mistake(
        "a tab in YAML",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:2: a tab where YAML expects blanks",
        file="targets:\n\t- name: ASE1\n",
    ),
    Mistake(
        "one blank too many in YAML",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:3: KEY: VALUE is not possible here: is the indentation right, and every value quoted"
        " that has a colon and a blank in it?",
        file="targets:\n- name: ASE1\n   host: ase1\n",
    ),
    Mistake(
        "a name in place of a list",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:1: targets: expected a list",
        file="targets: ASE1\n" + AUTH,
    ),
    Mistake(
        "a list in place of the keys",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:1: (top level): expected KEY: VALUE",
        file="- {{name: ASE1, host: ase1}}\n",
    ),
    Mistake(
        "a misspelt key",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:1: targets.0.hots: unknown key; expected host",
        file=TARGET.replace("host:", "hots:") + AUTH,
    ),
    Mistake(
        "two mistakes in one file",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:3: scarpe: unknown key; also"
        " {directory}/exporter.yaml:1: targets.0.port: Input should be less than or equal to 65535",
        file=TARGET.replace("{port}", "500000") + AUTH + "scarpe: {{}}\n",
    ),
    Mistake(
        "a target uses a login that is not there",
        "check --config.file={directory}/exporter.yaml",
        "{directory}/exporter.yaml:1: (top level): target ASE1: its auth is not defined under auth",
        file=TARGET.replace("port:", "auth: reporting, port:") + AUTH,
    ),
    Mistake(
        "a misspelt target",
        "probe --target=ASE2 --config.file={directory}/exporter.yaml",
        "--target: ASE2: no such target in the configuration; it has ASE1",
        file=TARGET + AUTH,
    ),
    Mistake(
        "the servers of the shipped configuration, which are examples",
        "check --config.file={directory}/exporter.yaml",
        "target A: a.invalid: no such host\nase-exporter: target B: b.invalid: no such host",
        file="targets: [{{name: A, host: a.invalid}}, {{name: B, host: b.invalid}}]\n" + AUTH,
    ),
    Mistake(
        "the port is taken",
        "serve --web.listen-address=127.0.0.1:{ssh}",
        "--web.listen-address: 127.0.0.1:{ssh}: Address already in use",
    ),
    Mistake(
        "a listen address without a port",
        "serve --web.listen-address=localhost",
        "--web.listen-address: 'localhost': expected HOST:PORT",
    ),
    Mistake(
        "the state directory belongs to somebody else",
        "serve --web.listen-address=127.0.0.1:0 --state-dir={directory}/password",
        "--state-dir: {directory}/password: File exists",
    ),
    Mistake("a misspelt command", "prob", "No such command 'prob'. Did you mean 'probe'?"),
    Mistake(
        "Prometheus does not run",
        "compare --prometheus=http://127.0.0.1:{closed} --target=A --before=2h..1h --after=1h..now",
        "Prometheus at http://127.0.0.1:{closed}: [Errno 111] Connection refused",
    ),
    Mistake(
        "the exporter does not run",
        "changes --url=http://127.0.0.1:{closed}",
        "http://127.0.0.1:{closed}/changes: [Errno 111] Connection refused",
    ),
    Mistake(
        "custom metrics that change something",
        "catalogue validate {directory}/deleting",
        "{directory}/deleting/mine.yaml: mine: `sql`: expected one select and nothing else, found `delete`",
    ),
    Mistake(
        "custom metrics with a misspelt label",
        "catalogue validate {directory}/misspelt",
        "{directory}/misspelt/mine.yaml:1: mine: the select has no column 'DBNam'",
    ),
    Mistake(
        "custom metrics of a table with a misspelt label",
        "check --config.file={directory}/exporter.yaml",
        "monOpenObjectActivity has no column ObjectNam",
        file=TARGET + AUTH + "catalogue: {{directories: [{directory}/table]}}\n",
        output=True,
    ),
]

DELETING = """mine:
  help: Deletes.
  sql: delete master..sysprocesses
  columns: {n: int}
  metrics: {ase_custom_n: {help: Number of rows., column: n}}
"""
MISSPELT = """mine:
  help: A label that is no column.
  sql: select db_name(dbid), count(*) from master..sysprocesses group by dbid
  columns: {DBName: varchar, n: int}
  labels: {database: DBNam}
  metrics: {ase_custom_n: {help: Number of rows., column: n}}
"""
OF_A_TABLE = """mine:
  help: A label that is no column.
  table: monOpenObjectActivity
  labels: {table: ObjectNam}
  metrics: {ase_custom_scans_total: {help: Number of scans., column: LogicalReads}}
"""


@contextmanager
def talker(first: bytes, answer: bytes) -> Iterator[int]:
    """A server on a port of its own that says `first`, and answers whatever it gets with `answer`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.sendall(first)
                    client.recv(4096)
                    client.sendall(answer)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with simulated("16.0 SP04", "quiet-oltp") as running:
        with running.login("sa") as query:
            for option, value in {"enable monitoring": 1, "wait event timing": 0}.items():
                query(f"exec sp_configure '{option}', {value}")
        yield running


@pytest.fixture(scope="module")
def filled(
    server: Simulated, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """A directory with files, and a function that fills their names and the ports into a text."""
    directory = tmp_path_factory.mktemp("mistakes")
    for name, text in {"password": server.password, "wrong": "wrong", "empty": "\n"}.items():
        (directory / name).write_text(text)
    for name, text in {"deleting": DELETING, "misspelt": MISSPELT, "table": OF_A_TABLE}.items():
        (directory / name).mkdir()
        (directory / name / "mine.yaml").write_text(text)
    host, port = server.address
    with (
        talker(b"SSH-2.0-OpenSSH_9.2\r\n", b"Invalid SSH identification string.\r\n") as ssh,
        talker(b"", b"HTTP/1.1 400 Bad Request\r\n\r\n") as http,
        socket.socket() as closed,
    ):
        closed.bind(("127.0.0.1", 0))  # bound, but not listening: refuses
        names = {
            "here": Path.cwd(),
            "host": host,
            "port": port,
            "ssh": ssh,
            "http": http,
            "closed": closed.getsockname()[1],
        }
        yield directory, lambda text: text.format(directory=directory, **names)


@pytest.mark.parametrize("mistake", MISTAKES, ids=[each.name for each in MISTAKES])
def test_a_mistake_is_one_line_that_names_its_cause(
    run: Run, mistake: Mistake, filled: tuple[Path, Callable[[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, fill = filled
    (directory / "exporter.yaml").write_text(fill(mistake.file) if mistake.file else "{}")
    environment = {
        "ASE_HOST": "127.0.0.1",
        "ASE_PORT": "{port}",
        "ASE_USER": "monitor",
        "ASE_PASSWORD_FILE": "{directory}/password",
        **mistake.environment,
    }
    for name in environment:
        monkeypatch.delenv(name, raising=False)
    result = run(
        *fill(mistake.arguments).split(),
        **{name: fill(value) for name, value in environment.items() if value},
    )
    if mistake.output:
        assert result.returncode == 1
        assert fill(mistake.expected) in result.stdout
        return
    assert result.returncode == 2, result.stdout
    assert result.stderr == f"ase-exporter: {fill(mistake.expected)}\n"


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
    command = [sys.executable, "-m", "ase_exporter", "probe"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    line = expected.format(drivers=tmp_path / "odbcinst.ini")
    assert result.returncode == 2
    assert result.stderr == f"ase-exporter: target 127.0.0.1: {line}\n"
