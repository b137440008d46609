"""What the shipped rules cost a real Prometheus: one simulated server, served as 1,000 of them."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import psutil
import pytest
import yaml
from tests.e2e.simulated_time import RULES, metrics_in_rules
from tests.exporter.clocks import ShiftedClock, opener
from tests.ports import free_block
from tests.simulator.tds.running import running

from ase_exporter.catalogue import load_catalogue
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.config import Auth, Module, Scrape, Target
from ase_exporter.demo.processes import HOST, Processes
from ase_exporter.metrics.exposition import render_bytes
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult
from ase_exporter.scraping.target_scraper import TargetScraper
from ase_simulator.model import load_scenario
from ase_simulator.simulation import simulation

SERVERS = 1000
INTERVAL = 15
SCRAPED_SECONDS = 3600
# Long enough for every window of a minute to be full, and for the rules to have run over it several times.
SECONDS = 120
SECONDS_TO_REST = 15


@pytest.mark.timeout(1200)
def test_every_rule_group_over_a_thousand_servers_takes_less_than_a_third_of_the_interval(
    tmp_path: Path,
) -> None:
    # A healthy order system on 8 engines, its counters those of an hour.
    *_, (_, scraped) = scrapes("quiet-oltp", 2 * SCRAPED_SECONDS, SCRAPED_SECONDS)
    families = [family for family in scraped if family.name in metrics_in_rules()]
    series = sum(len(family.samples) for family in families)
    with served(families) as port, Processes(tmp_path) as processes:
        prometheus_port = free_block(1)
        configuration = tmp_path / "prometheus.yml"
        configuration.write_text(yaml.safe_dump(prometheus_configuration(port)))
        command = ["prometheus", f"--config.file={configuration}"]
        command += [f"--storage.tsdb.path={tmp_path / 'data'}"]
        command += [f"--web.listen-address={HOST}:{prometheus_port}"]
        processes.start("prometheus", command, os.environ)
        own = f"http://{HOST}:{prometheus_port}"
        time.sleep(SECONDS)
        processes.check()
        with Prometheus(own) as prometheus:
            up = prometheus.query("count(ase_up == 1)")[0].value
        groups = group_durations(own)
        process = psutil.Process(processes.pid("prometheus"))
        memory = process.memory_info().rss
        at = time.time()
        # From here on it answers us and does nothing else, so that its CPU time is that of our questions.
        configuration.write_text("{}")
        process.send_signal(signal.SIGHUP)
        time.sleep(SECONDS_TO_REST)
        cpu = cpu_seconds(own, process, at)
    print(f"{'':24} {'CPU':>8} {'took':>8}  (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs)")
    for name, seconds in sorted(cpu.items(), key=lambda each: -each[1]):
        print(f"{name:24} {seconds:8.2f} {groups[name]:8.2f} s")
    print(f"{'all groups':24} {sum(cpu.values()):8.2f} {sum(groups.values()):8.2f} s")
    print(
        f"{up:.0f} servers x {series} series that rules read; Prometheus {memory / 2**20:,.0f} MiB resident"
    )
    assert up == SERVERS
    assert max(cpu.values()) < INTERVAL / 3


def cpu_seconds(url: str, process: psutil.Process, at: float) -> dict[str, float]:
    """CPU seconds that one evaluation of each rule group takes, as of that time; the least of three."""
    found: dict[str, float] = {}
    with httpx2.Client(base_url=url, trust_env=False, timeout=600) as client:
        for group in (group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]):
            found[group["name"]] = sum(
                min(_cpu_of(client, process, rule["expr"], at) for _ in range(3)) for rule in group["rules"]
            )
    return found


def _cpu_of(client: httpx2.Client, process: psutil.Process, expr: str, at: float) -> float:
    before = process.cpu_times()
    # Counted, so that no answer is written out.
    client.post("/api/v1/query", data={"query": f"count({expr})", "time": str(at)}).raise_for_status()
    after = process.cpu_times()
    return (after.user - before.user) + (after.system - before.system)


def scrapes(scenario: str, seconds: float, interval: float) -> Iterator[tuple[float, list[Family]]]:
    """Unix time in a simulated server, and all that a scrape gives then, interval by interval."""
    (server,) = load_scenario(scenario, speed=0)
    shifted = ShiftedClock()
    clock = shifted.clock
    with running(lambda: simulation(server, None, HOST, 0)) as run:
        target = Target(name=scenario, host=HOST, port=run.port)
        auth = Auth(user="ase_exporter", password="exporter")
        scraper = TargetScraper(
            target, auth, Module(), Scrape(), load_catalogue()[0], clock=clock, open_connection=opener(clock)
        )
        for _ in range(int(seconds / interval)):
            result = ScrapeResult(clock.monotonic() + 60, clock=clock)
            scraper.scrape(result)
            yield server.now().replace(tzinfo=None).timestamp(), result.all_families(stuck=False)
            run.ask(lambda: server.world.clock.advance(interval))
            shifted.ahead += interval
        scraper.close()


@contextmanager
def served(families: list[Family]) -> Iterator[int]:
    """These families at any path, with counters that go on growing as they did."""
    began = time.monotonic()

    def body() -> bytes:
        grown = 1 + (time.monotonic() - began) / SCRAPED_SECONDS
        return render_bytes(
            replace(family, samples=[(labels, value * grown) for labels, value in family.samples])
            if family.kind == "counter"
            else family
            for family in families
        )

    cached = (0.0, b"")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            nonlocal cached
            if time.monotonic() - cached[0] > 1:
                cached = (time.monotonic(), body())
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(cached[1])))
            self.end_headers()
            self.wfile.write(cached[1])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = SERVERS
        daemon_threads = True

    with Server((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def prometheus_configuration(port: int) -> dict[str, object]:
    """Scrapes the one address a thousand times, as a thousand instances."""
    targets = [
        {
            "targets": [f"{HOST}:{port}"],
            "labels": {"instance": f"server{number:04}", "__metrics_path__": f"/{number}"},
        }
        for number in range(SERVERS)
    ]
    return {
        "global": {"scrape_interval": f"{INTERVAL}s", "evaluation_interval": f"{INTERVAL}s"},
        "rule_files": [str(path) for path in RULES],
        "scrape_configs": [{"job_name": "ase", "static_configs": targets}],
    }


def group_durations(url: str) -> dict[str, float]:
    """Seconds that each rule group took when it last ran."""
    groups = httpx2.get(f"{url}/api/v1/rules", trust_env=False).json()["data"]["groups"]
    return {group["name"]: float(group["evaluationTime"]) for group in groups}
