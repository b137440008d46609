"""Runs deploy/scale-out without containers: its files and command lines, with loopback addresses for host names."""

import hashlib
import os
import re
import secrets
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx2
import psutil
import yaml
from tests.exporter.simulated import reading
from tests.paths import REPOSITORY
from tests.ports import free_block
from tests.programs import START, answers, eventually

from ase_exporter.assets import load_yaml
from ase_exporter.compare.prometheus import Prometheus, Sample
from ase_simulator.demo.processes import HOST, Processes
from ase_simulator.demo.webhook import Notification, receiving

SCALE_OUT = REPOSITORY / "deploy" / "scale-out"
COMPOSE = load_yaml((SCALE_OUT / "docker-compose.yml").read_text())
INTERVAL = 15
EXPORTERS = 2
# Collectors for the idle servers: few, so that two cores can scrape two hundred of them.
FEW = {"state", "server", "engines", "threads", "spinlocks", "data_caches"}

# Service -> Debian's name of the program, and its option for the listen address.
PROGRAMS = {
    "agent-a": ("prometheus", "--web.listen-address={}"),
    "agent-b": ("prometheus", "--web.listen-address={}"),
    "victoriametrics": ("victoria-metrics", "--httpListenAddr={}"),
    "vmalert": ("vmalert", "--httpListenAddr={}"),
    "alertmanager": ("prometheus-alertmanager", "--web.listen-address={}"),
}
PORTS = {"agent-a": 9090, "agent-b": 9090, "victoriametrics": 8428, "vmalert": 8880, "alertmanager": 9093}
READY = {"victoriametrics": "/health", "vmalert": "/health"}


@dataclass
class Fleet:
    """The running fleet.

    notifications: that were sent. ports: by service. servers: the port of each simulated server, by name. more: extra
    arguments by service.
    """

    directory: Path
    processes: Processes
    notifications: list[Notification]
    ports: dict[str, int]
    servers: dict[str, int]
    more: dict[str, list[str]] = field(default_factory=dict)

    def url(self, service: str) -> str:
        return f"http://{HOST}:{self.ports[service]}"

    def log_in(self, server: str) -> None:
        """Let the exporter log in, with a long timeout: two hundred logins at once overload a simulator."""
        rest = int.from_bytes(hashlib.md5(server.encode()).digest()[8:], "big") % EXPORTERS  # as hashmod does
        patient = {"X-Prometheus-Scrape-Timeout-Seconds": "120"}
        url = f"{self.url(f'exporter-{rest}')}/probe"
        answer = httpx2.get(url, params={"target": server}, headers=patient, trust_env=False, timeout=150)
        assert "\nase_up 1" in answer.text, f"{server}: {answer.text[-300:]}"

    def ask(self, expr: str) -> list[Sample]:
        """Query the store."""
        with Prometheus(self.url("victoriametrics")) as store:
            return store.query(expr)

    def start_all(self) -> None:
        """Start the store first, then its writers and readers."""
        for service in ("victoriametrics", "alertmanager", "vmalert", "agent-a", "agent-b"):
            self.start(service)
            self.wait_ready(service)

    def start(self, service: str) -> None:
        """Start a service as docker-compose.yml does; it keeps its data from an earlier run."""
        program, listen = PROGRAMS[service]
        command = [self._here(service, word) for word in command_of(service) + self.more.get(service, [])]
        self.processes.start(
            service, [program, *command, listen.format(f"{HOST}:{self.ports[service]}")], os.environ
        )

    def end(self, service: str, how: signal.Signals) -> None:
        """End a service with a signal and wait for its exit."""
        process = psutil.Process(self.processes.pid(service))
        process.send_signal(how)
        process.wait(60)

    def wait_ready(self, *services: str, timeout: float = START) -> None:
        for service in services:
            url = self.url(service) + READY.get(service, "/-/ready")
            eventually(f"{service} answers (see {self.directory})", partial(answers, url), timeout)

    def wait(self, expr: str, timeout: float) -> None:
        """Wait until an expression has a result."""
        eventually(f"a result of {expr}", lambda: bool(self.ask(expr)), timeout)

    def _here(self, service: str, word: str) -> str:
        """An argument with the paths and ports of this run."""
        word = re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", word)
        # Prometheus 2 has another name for this option.
        word = "--enable-feature=agent" if word == "--agent" else word
        for path, here in {
            "/etc/prometheus/agent.yml": self.directory / "agent.yml",
            "/etc/alertmanager/alertmanager.yml": self.directory / "alertmanager.yml",
            "/etc/rules": REPOSITORY / "alerts" / "rules",
            "/etc/fleet": SCALE_OUT,
        }.items():
            word = word.replace(path, str(here))
        word = re.sub(
            r"=(/prometheus|/alertmanager|/victoria-metrics-data)$", f"={self.directory / service}", word
        )
        return addressed(word, self.ports)


def command_of(service: str) -> list[str]:
    """The arguments of a service: its own, or those of the service that it extends."""
    content = COMPOSE["services"][service]
    if extended := content.get("extends"):
        content = load_yaml((SCALE_OUT / extended["file"]).read_text())["services"][extended["service"]]
    command: list[str] = content["command"]
    return command


def addressed(text: str, ports: dict[str, int]) -> str:
    """Replace names of services by loopback addresses; the exporters' ports differ in the last digit only."""
    first = ports["exporter-0"]
    assert first % 10 == 0
    text = text.replace("exporter-$1:10150", f"{HOST}:{first // 10}$1")
    for service, port in (PORTS | {"exporter-0": 10150, "exporter-1": 10150}).items():
        text = text.replace(f"{service}:{port}", f"{HOST}:{ports[service]}")
    return text


@contextmanager
def fleet(directory: Path, still: int, live: Sequence[str]) -> Iterator[Fleet]:
    """Start idle servers, a live one per scenario, and the exporters; other services are started later.

    The time of the idle ones stands still, which takes less of the processors.
    """
    base = -(-free_block(40 + still + len(live)) // 10) * 10
    names = ["exporter-0", "exporter-1", *PROGRAMS]
    ports = {name: base + number for number, name in enumerate(names)}
    password = secrets.token_hex(12)
    (directory / "password").write_text(password)
    first = base + len(names)
    servers = {f"IDLE{number + 1:03}": first + number for number in range(still)}
    servers |= {name.upper(): first + still + number for number, name in enumerate(live)}
    idle = {"scenario": "idle", "server": "IDLE{n:03d}", "count": still}
    notifications: list[Notification] = []
    with receiving(HOST, 0, notifications.append) as ports["webhook"], Processes(directory) as processes:
        running = Fleet(directory, processes, notifications, ports, servers)
        _write(running, directory)
        (directory / "idle.yaml").write_text(
            yaml.safe_dump({"name": "idle", "description": "a fleet", "fleet": [idle]})
        )
        _ours(processes, "simulator", "ase-simulator", f"--port={first}", "--speed=0",
              f"--scenario={directory / 'idle.yaml'}", f"--login=monitor:{password}")  # fmt: skip
        for name in live:
            _ours(processes, f"simulator-{name}", "ase-simulator", f"--port={servers[name.upper()]}",
                  f"--scenario={name}", f"--login=monitor:{password}")  # fmt: skip
        _await_servers(servers)
        for number in range(EXPORTERS):
            _ours(processes, f"exporter-{number}", "ase-exporter", "serve", "--log.level=warning",
                  f"--config.file={directory / 'exporter.yml'}", f"--state-dir={directory / f'state-{number}'}",
                  f"--web.listen-address={HOST}:{ports[f'exporter-{number}']}")  # fmt: skip
        running.wait_ready("exporter-0", "exporter-1")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(running.log_in, servers))
        yield running


def _write(running: Fleet, directory: Path) -> None:
    """Write the shipped configurations with this fleet's addresses."""
    (directory / "agent.yml").write_text(addressed((SCALE_OUT / "agent.yml").read_text(), running.ports))
    shipped = (REPOSITORY / "deploy" / "alertmanager" / "alertmanager.yml").read_text()
    shipped = shipped.replace("127.0.0.1:10155", f"{HOST}:{running.ports['webhook']}")
    shipped = shipped.replace("templates/*.tmpl", f"{REPOSITORY}/deploy/alertmanager/templates/*.tmpl")
    (directory / "alertmanager.yml").write_text(shipped)
    targets = [
        {"name": name, "host": HOST, "port": port, "module": "few" if name.startswith("IDLE") else "default"}
        for name, port in running.servers.items()
    ]
    auth = {"default": {"user": "monitor", "password_file": str(directory / "password")}}
    few = {"collectors": dict(reading(*FEW).collectors)}
    configuration = {"targets": targets, "auth": auth, "modules": {"few": few}, "changes": {"enabled": False}}
    (directory / "exporter.yml").write_text(yaml.safe_dump(configuration))


def _ours(processes: Processes, name: str, *command: str) -> None:
    processes.start(name, [Path(sys.executable).parent / command[0], *command[1:]], os.environ)


def _await_servers(servers: dict[str, int]) -> None:
    """Wait until each server accepts connections."""
    for port in servers.values():
        eventually(f"a listener on port {port}", partial(_listens, port), 120)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
