"""Fills a VictoriaMetrics by real scrapes of simulated servers and a handwritten machine."""

import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import psutil
import yaml
from tests.dashboards import machine
from tests.paths import REPOSITORY
from tests.ports import free_block

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue
from ase_exporter.compare.prometheus import Prometheus, PrometheusError
from ase_simulator.demo import scaling
from ase_simulator.demo.processes import HOST, Processes
from ase_simulator.demo.scaling import Pace

PACE = Pace(speed=50, scrape_interval=4.0)

FILES = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
SERVERS = [each["server"] for each in load_yaml(FILES)["fleet"]["fleet"]]


@dataclass(frozen=True)
class Filled:
    """The running stack. url: API of the store; root: directory of the machine's /proc and /sys."""

    url: str
    prometheus: Prometheus
    processes: Processes
    directory: Path
    root: Path

    def wait(self, expr: str, timeout: float = 60, behind: float = 0) -> float:
        """Wait until the expression has a result `behind` seconds ago; return the Unix time of the result.

        A failed scrape ends its series at the time it began, so results of the last seconds may still change.
        """
        deadline = time.monotonic() + timeout
        while True:
            self.processes.check()
            try:
                at = time.time() - behind
                if self.prometheus.query(expr, at):
                    return at
            except PrometheusError:
                pass
            assert time.monotonic() < deadline, f"no result of {expr} in {timeout} s"
            # Nothing is new before the next scrape.
            time.sleep(PACE.scrape_interval / 4)

    def freeze(self, *programs: str) -> None:
        """End these programs: nothing is added to what VictoriaMetrics holds."""
        for name in programs:
            process = psutil.Process(self.processes.pid(name))
            process.terminate()
            process.wait(60)


@contextmanager
def filled(directory: Path) -> Iterator[Filled]:
    """Run the stack during the block; the machine is in its state before huge pages."""
    base = free_block(3 + len(SERVERS))
    root = directory / "machine"
    root.mkdir()
    machine.before(root)
    machine.perf(root)
    with Processes(directory) as processes:
        password = secrets.token_hex(12)
        (directory / "password").write_text(password)
        for name, content in _files(directory, root, base).items():
            (directory / f"{name}.yml").write_text(yaml.safe_dump(content))
        rules = directory / "rules"
        rules.mkdir()
        for path in sorted((REPOSITORY / "alerts" / "rules").glob("*.yaml")):
            # A median of two values is one, and need not be waited for.
            text = path.read_text().replace("[1d:5m]) >= 6", "[1d:5m]) >= 2")
            (rules / path.name).write_text(scaling.scaled_rules(text, PACE))
        url = f"http://{HOST}:{base + 1}"

        def start(program: str, *options: str) -> None:
            ours = Path(sys.executable).with_name(program)
            processes.start(program, [ours if ours.exists() else program, *options], os.environ)

        start("ase-simulator", f"--port={base + 3}", f"--speed={PACE.speed:g}",
              f"--scenario={directory / 'fleet.yml'}", f"--login=sa:{password}")  # fmt: skip
        eager: list[str | Path] = [sys.executable, Path(__file__).with_name("eager_exporter.py"), "serve"]
        eager += [f"--config.file={directory / 'exporter.yml'}", f"--web.listen-address={HOST}:{base}"]
        processes.start("ase-exporter", eager, os.environ)
        # Single-node VictoriaMetrics scrapes. The default latency hides 30 s: too much at this scrape interval.
        start("victoria-metrics", f"-storageDataPath={directory / 'data'}", f"-httpListenAddr={HOST}:{base + 1}",
              f"-promscrape.config={_scrapes_alone(directory)}", "-search.latencyOffset=1s")  # fmt: skip
        # A notifier is required; nothing is notified, but the series ALERTS is written.
        start("vmalert", f"-rule={directory}/rules/*.yaml", f"-datasource.url={url}", f"-remoteWrite.url={url}",
              "-remoteWrite.flushInterval=500ms", f"-notifier.url={url}",
              f"-evaluationInterval={scaling.ms(PACE.scrape_interval)}",
              f"-httpListenAddr={HOST}:{base + 2}")  # fmt: skip
        prometheus = Prometheus(url)
        try:
            yield Filled(url, prometheus, processes, directory, root)
        finally:
            prometheus.close()


def _scrapes_alone(directory: Path) -> Path:
    """The part of Prometheus's configuration that VictoriaMetrics takes."""
    config = load_yaml((directory / "prometheus.yml").read_text())
    del config["global"]["evaluation_interval"], config["rule_files"]
    (directory / "scrape.yml").write_text(yaml.safe_dump(config))
    return directory / "scrape.yml"


def _files(directory: Path, root: Path, base: int) -> dict[str, Any]:
    """The configuration of the servers, the exporter and Prometheus. base: the exporter's port."""
    ports = {name: base + 3 + number for number, name in enumerate(SERVERS)}
    values = {"host": HOST, "exporter": f"{HOST}:{base}", "directory": directory, "machine": root}
    files: dict[str, Any] = load_yaml(Template(FILES).substitute(values | ports))
    collectors = dict.fromkeys(load_catalogue()[0].collectors, True)
    files["exporter"]["modules"]["details"] = {"collectors": collectors}
    return files
