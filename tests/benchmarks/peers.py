"""What is measured beside each other: our exporter, query-exporter, a Go reference, and the floor in C.

All but ours are built under .bench/ at their first use. What cannot be had on this machine skips with the reason.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
import yaml
from tests.benchmarks.scraping import Caller, Cost, Memory, cpu_seconds, series_of
from tests.benchmarks.table_server import LABELS, PASSWORD, QUERY, USER, VALUES
from tests.exporter.running_exporter import exporter

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BUILT = ROOT / ".bench"
HOST = "127.0.0.1"
ODBC = f"DRIVER=FreeTDS;TDS_Version=5.0;SERVER={HOST};PORT={{port}};UID={{user}};PWD={{password}};ClientCharset=UTF-8"


@dataclass
class Peer:
    """An exporter that runs. path: what to scrape."""

    name: str
    port: int
    path: str
    process: psutil.Process
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._caller = Caller(self.port)

    def measure(self) -> Cost:
        """One scrape from outside: its time, CPU of all its processes, size of the answer."""
        before = cpu_seconds(self.process)
        seconds, body = self._caller.fetch(self.path, self.headers)
        return Cost(seconds, cpu_seconds(self.process) - before, len(body), series_of(body))

    def answer(self) -> bytes:
        """One answer, with its head."""
        return self._caller.fetch(self.path, self.headers)[1]

    def memory(self) -> Memory:
        """What all its processes hold."""
        return Memory.of([self.process, *self.process.children(recursive=True)])


@dataclass
class Floor:
    """The C program: measures itself, so that no HTTP and no process stands between."""

    name: str
    process: "subprocess.Popen[str]"

    def measure(self) -> Cost:
        """One reading of the table."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        _, wall, cpu = self.process.stdout.readline().split()
        return Cost(float(wall), float(cpu), 0, 0)


@contextmanager
def table_server(rows: int) -> Iterator[int]:
    """The port of a server with the table."""
    with program(sys.executable, "-m", "tests.benchmarks.table_server", str(rows)) as server:
        yield int(_first_line(server))


@contextmanager
def ours_top_rows(server: int, directory: Path) -> Iterator[Peer]:
    """The same with series for the top rows and the rest, as the collectors of objects and statements ship."""
    with ours(server, directory / "top", top={"by": [*VALUES][:4]}) as running:
        yield replace(running, name="ase-exporter, top rows")


@contextmanager
def ours(server: int, directory: Path, **more: object) -> Iterator[Peer]:
    """`ase-exporter serve` with a catalogue file for the table, and no other collector. more: keys of the file."""
    directory.mkdir(exist_ok=True)
    catalogue = _catalogue() | more
    (directory / "benchmark.yaml").write_text(yaml.safe_dump({"benchmark": catalogue}, sort_keys=False))
    configuration = {
        "auth": {"default": {"user": USER, "password": PASSWORD}},
        "catalogue": {"directories": [str(directory)]},
        # Back to back, scrapes would exceed it, and the table would be read less often.
        "scrape": {"budget": None},
        "modules": {"default": {"series_limit": 10_000_000}},
        "targets": [{"name": "bench", "host": HOST, "port": server}],
    }
    (directory / "exporter").mkdir(exist_ok=True)
    with exporter(directory / "exporter", yaml.safe_dump(configuration)) as running:
        port = int(running.url.rpartition(":")[2])
        path = "/probe?target=bench&collect[]=benchmark"
        yield Peer("ase-exporter", port, path, psutil.Process(running.process.pid))


def _catalogue() -> dict[str, object]:
    metrics = {f"{value}_total": {"help": "Counted.", "column": value} for value in VALUES}
    columns = {**LABELS, **VALUES}
    labels = {name: name for name in LABELS}
    collector = {
        "help": "A large table.",
        "sql": QUERY,
        "columns": columns,
        "labels": labels,
        "metrics": metrics,
    }
    return {**collector, "roles": []}


@contextmanager
def query_exporter(server: int, directory: Path) -> Iterator[Peer]:
    """query-exporter over pyodbc and the same driver, at scrape time; gauges, which cost it least."""
    dsn = f"sybase+pyodbc:///?odbc_connect={quote(ODBC.format(port=server, user=USER, password=PASSWORD))}"
    metric = {"type": "gauge", "description": "Counted.", "labels": [*LABELS]}
    configuration = {
        "databases": {"bench": {"dsn": dsn}},
        "metrics": dict.fromkeys(VALUES, metric),
        "queries": {"benchmark": {"databases": ["bench"], "metrics": [*VALUES], "sql": QUERY}},
    }
    path = directory / "query-exporter.json"
    path.write_text(json.dumps(configuration))
    port = free_port()
    command = [_query_exporter_program(), "--config", path, "--port", str(port), "--host", HOST]
    with program(*map(str, [*command, "--log-level", "error"])) as process:
        await_port(process, port)
        yield Peer("query-exporter", port, "/metrics", psutil.Process(process.pid))


def _query_exporter_program() -> Path:
    found = BUILT / "query-exporter/bin/query-exporter"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", found.parent.parent], check=True)
        requirements = HERE / "query-exporter-requirements.txt"
        pip: list[str | Path] = [found.with_name("pip"), "install", "-q", "-r", requirements]
        if subprocess.run(pip).returncode:
            shutil.rmtree(found.parent.parent)
            pytest.skip("query-exporter cannot be installed here")
    return found


@contextmanager
def go_reference(server: int, directory: Path) -> Iterator[Peer]:
    """A small exporter in Go: thda/tds and client_golang."""
    built = BUILT / "go_reference"
    if shutil.which("go") is None:
        pytest.skip("no Go compiler here")
    environment = os.environ | {"GOFLAGS": "-buildvcs=false"}
    _run_or_skip(["go", "build", "-o", str(built), "."], HERE / "go_reference", environment)
    dsn = f"tds://{USER}:{PASSWORD.replace(' ', '%20')}@{HOST}:{server}/master?charset=utf8&packetSize=4096"
    with program(str(built), dsn, QUERY, str(len(LABELS))) as process:
        yield Peer("Go reference", int(_first_line(process)), "/metrics", psutil.Process(process.pid))


@contextmanager
def floor(server: int, directory: Path) -> Iterator[Floor]:
    """Bound fetch of the rows in C over the same driver."""
    with floor_of(server, QUERY, USER, PASSWORD) as made:
        yield made


@contextmanager
def floor_of(server: int, batch: str, user: str, password: str, *text: str) -> Iterator[Floor]:
    """The same for any batch of selects. text: a file, see floor.c."""
    built = BUILT / "floor"
    _run_or_skip(["gcc", "-O2", "-o", str(built), "floor.c", "-lodbc"], HERE, dict(os.environ))
    with program(str(built), ODBC.format(port=server, user=user, password=password), batch, *text) as process:
        yield Floor("floor (C)", process)


def _run_or_skip(command: Sequence[str], directory: Path, environment: dict[str, str]) -> None:
    BUILT.mkdir(exist_ok=True)
    try:
        done = subprocess.run(command, cwd=directory, env=environment, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        pytest.skip(f"{command[0]} is not installed")
    if done.returncode:
        pytest.skip(f"{' '.join(command)}: {done.stderr.strip().splitlines()[0]}")


@contextmanager
def program(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A process to the end of the block, with pipes to its input and output."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _environment() -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "exporter", ROOT / "simulator")))
    }


def free_port() -> int:
    """A port of loopback that was free just now, for programs that cannot say which one they took."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def await_port(process: "subprocess.Popen[str]", port: int) -> None:
    """Until something listens there."""
    limit = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < limit:
        try:
            socket.create_connection((HOST, port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}")


def _first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()
