"""Runs docs/host.md: PostgreSQL and MariaDB with their own exporters, our host mode, change marks and compare.

The test makes no claim about which setting is faster; it checks that `compare` shows the figures of all exporters.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx2
import pytest
from tests.exporter.host.postgres import postgres
from tests.paths import DOCS
from tests.ports import HOST, free_block
from tests.programs import answers, eventually, running

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(600)]

PAGE = DOCS / "host.md"
TOOLS = Path(sys.executable).parent
NEEDED = {
    "mariadbd": "mariadb-server",
    "mysqlslap": "mariadb-server",
    "prometheus-postgres-exporter": "prometheus-postgres-exporter",
    "prometheus-mysqld-exporter": "prometheus-mysqld-exporter",
}
SECONDS = 45


@contextmanager
def mariadb(directory: Path, port: int) -> Iterator[Callable[..., str]]:
    """A MariaDB with an empty database `shop` and a root without password; yields a function that runs its clients."""
    data, socket = directory / "mariadb", directory / "mariadb.sock"
    subprocess.run(
        [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
        ]
        + (["--user=root"] if os.geteuid() == 0 else []),
        check=True,
        capture_output=True,
    )
    command = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", f"--port={port}"]
    command += [f"--bind-address={HOST}", f"--pid-file={directory / 'mariadb.pid'}"]
    command += ["--user=root"] if os.geteuid() == 0 else []

    def client(program: str, *arguments: str) -> str:
        asked = [program, "--no-defaults", f"--socket={socket}", "--user=root", *arguments]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    with running(directory / "mariadb.log", *command):
        ping = ["mariadb-admin", "--no-defaults", f"--socket={socket}", "--user=root", "ping"]
        eventually("MariaDB", lambda: subprocess.run(ping, capture_output=True).returncode == 0)
        client("mariadb", "-e", "create database shop")
        yield client


def prometheus_configuration(page: str, ports: dict[int, int]) -> str:
    """The page's configuration with this test's ports."""
    text = page.partition("```yaml\nscrape_configs:")[2].partition("```")[0]
    for theirs, ours in ports.items():
        text = text.replace(f"db1.example.com:{theirs}", f"{HOST}:{ours}")
    return f"global: {{scrape_interval: 1s}}\nscrape_configs:{text}"


def test_marks_and_compare_include_the_figures_of_other_exporters(tmp_path: Path) -> None:
    if missing := {package for program, package in NEEDED.items() if not shutil.which(program)}:
        pytest.skip(f"needs {', '.join(sorted(missing))}")
    host, pg, my, web, mariadb_port = range(first := free_block(5), first + 5)
    ports = {10151: host, 9187: pg, 9104: my}
    configuration = prometheus_configuration(PAGE.read_text(encoding="utf-8"), ports)
    (tmp_path / "prometheus.yml").write_text(configuration)
    (tmp_path / "host.yaml").write_text("host: {}\nchanges: {interval: 1s}\n")

    with ExitStack() as stack:
        server = stack.enter_context(postgres(fsync="on", shared_buffers="128MB"))
        client = stack.enter_context(mariadb(tmp_path, mariadb_port))

        def start(name: str, *words: str | Path, **more: str) -> None:
            stack.enter_context(running(tmp_path / f"{name}.log", *words, environment=more))

        start(
            "pg",
            "prometheus-postgres-exporter",
            f"--web.listen-address={HOST}:{pg}",
            DATA_SOURCE_NAME=f"postgresql://tester@{HOST}:{server.port}/postgres?sslmode=disable",
        )
        start(
            "my",
            "prometheus-mysqld-exporter",
            f"--web.listen-address={HOST}:{my}",
            DATA_SOURCE_NAME=f"root@unix({tmp_path / 'mariadb.sock'})/",
        )
        options = [
            f"--config.file={tmp_path}/host.yaml",
            f"--web.listen-address={HOST}:{host}",
            "--web.enable-annotations",
        ]
        start("host", TOOLS / "ase-exporter", "serve", *options)
        storage = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/tsdb"]
        start("prometheus", "prometheus", *storage, f"--web.listen-address={HOST}:{web}")
        for port in (host, pg, my):
            eventually(str(port), partial(answers, f"http://{HOST}:{port}/metrics"))
        query = f"http://{HOST}:{web}/api/v1/query?query=sum(up)"
        eventually("all three in Prometheus", lambda: answers(query) and '"3"' in httpx2.get(query).text)

        server.run("pgbench", "-i", "-q", "-s", "5")

        def work() -> None:
            slap = [
                "mysqlslap", "--no-defaults", f"--socket={tmp_path / 'mariadb.sock'}", "--user=root",
                "--concurrency=2", "--auto-generate-sql", "--auto-generate-sql-load-type=write",
                "--number-of-queries=10000000",
            ]  # fmt: skip
            with running(tmp_path / "slap.log", *slap):
                server.run("pgbench", "-n", "-c", "4", "-j", "2", "-T", str(SECONDS))

        work()
        mark: list[str | Path] = [
            TOOLS / "ase-exporter",
            "annotate",
            "commits no longer wait for the disk",
            "--tag",
            "tuning",
        ]
        subprocess.run([*mark, f"--url=http://{HOST}:{host}"], check=True)
        server.run(
            "psql", "-qc", "alter system set synchronous_commit = off", "-c", "select pg_reload_conf()"
        )
        client("mariadb", "-e", "set global innodb_flush_log_at_trx_commit = 2")
        work()
        compared = subprocess.run(
            [
                *(TOOLS / "ase-exporter", "compare", f"--prometheus=http://{HOST}:{web}", "--target=db1"),
                *("--around", "no longer wait", "--settle=5", f"--length={SECONDS - 5}"),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "130"},
        )
    print(compared.stdout)
    assert compared.returncode == 0, compared.stderr
    for text in (
        "annotation: commits no longer wait for the disk",
        "PostgreSQL transactions per second",
        "CPU milliseconds per PostgreSQL transaction",
        "MySQL statements per second",
        "CPU milliseconds per MySQL statement",
        "TLB shootdowns per second",
    ):
        assert text in compared.stdout
