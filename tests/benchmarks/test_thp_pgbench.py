"""pgbench on a real PostgreSQL under THP always, then never: the exporter marks the change, `compare` tells.

No claim about which is better: a short run on a small machine shows that the figures can be compared.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
from rich.console import Console
from rich.table import Table
from tests.exporter.host.kernel_settings import THP, kernel_settings
from tests.exporter.host.postgres import Postgres, postgres
from tests.ports import free_block

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]

SECONDS = 60
SCALE = 10
MARK = 'dbhost_change_timestamp_seconds{from="always",kind="thp",name="enabled",to="never"}'


@contextmanager
def running(log: Path, *command: str | Path) -> Iterator[None]:
    """A program from here to the end of the block."""
    with log.open("wb") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def await_(what: str, condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, f"{what} did not come"
        time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        return httpx2.get(url, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


def bench(server: Postgres) -> tuple[float, float]:
    """One run of pgbench: transactions per second, latency in ms."""
    output = server.run("pgbench", "-n", "-c", "4", "-j", "2", "-T", str(SECONDS))
    found = [re.search(pattern, output) for pattern in (r"tps = ([\d.]+)", r"average = ([\d.]+)")]
    tps, latency = (float(match[1]) for match in found if match)
    return tps, latency


def test_pgbench_before_and_after_thp(tmp_path: Path) -> None:
    base = free_block(2)
    host, prometheus = (f"127.0.0.1:{base + number}" for number in range(2))
    (tmp_path / "exporter.yaml").write_text("host: {}\nchanges: {interval: 1s}\n")
    (tmp_path / "prometheus.yml").write_text(
        f"scrape_configs: [{{job_name: dbhost, scrape_interval: 1s, static_configs: [{{targets: ['{host}']}}]}}]\n"
    )
    program = Path(sys.executable).with_name("ase-exporter")
    with ExitStack() as stack:
        kernel = stack.enter_context(kernel_settings())
        server = stack.enter_context(postgres(huge_pages="off", shared_buffers="256MB"))
        server.run("pgbench", "-i", "-q", "-s", str(SCALE))
        kernel.set(THP, "always")
        options: list[str | Path] = [
            "--config.file",
            tmp_path / "exporter.yaml",
            "--web.listen-address",
            host,
        ]
        options += ["--state-dir", tmp_path / "state"]
        stack.enter_context(running(tmp_path / "exporter.log", program, "serve", *options))
        storage = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/tsdb"]
        listen = f"--web.listen-address={prometheus}"
        stack.enter_context(running(tmp_path / "prometheus.log", "prometheus", *storage, listen))
        await_("the exporter", lambda: answers(f"http://{host}/metrics"))
        await_("Prometheus", lambda: answers(f"http://{prometheus}/-/ready"))
        runs = {"always": bench(server)}
        kernel.set(THP, "never")
        await_("the mark of the change", lambda: MARK in httpx2.get(f"http://{host}/metrics").text)
        runs["never"] = bench(server)
        arguments = ["--prometheus", f"http://{prometheus}", "--target", host, "--around", "enabled"]
        arguments += ["--settle", "5", "--length", str(SECONDS)]
        compared = subprocess.run(
            [program, "compare", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "150"},
        )
    table = Table("pgbench", *(f"THP {mode}" for mode in runs), title=f"scale {SCALE}, {SECONDS} s")
    table.add_row("transactions per second", *(f"{run[0]:,.1f}" for run in runs.values()))
    table.add_row("latency, ms", *(f"{run[1]:.3f}" for run in runs.values()))
    Console(width=100).print(table)
    print(compared.stdout)
    assert compared.returncode == 0, compared.stderr
    assert "thp: enabled always -> never" in compared.stdout
    assert "Page faults per second" in compared.stdout
