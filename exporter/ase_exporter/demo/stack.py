"""The demo's processes: writes their configuration from the shipped files, starts them, awaits readiness."""

import math
import os
import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import yaml

from ase_exporter import assets
from ase_exporter.demo.processes import HOST, Ports, Processes
from ase_exporter.demo.scaling import Pace, scaled_alertmanager, scaled_prometheus, scaled_rules
from ase_exporter.errors import MissingExtraError, UserError

LOGIN = "monitor"
SERVER = "DEMO"
START_SECONDS = 30.0

RUN_SECONDS = 600.0
"""Simulated length of each run of the memscale scenario."""

# port in the shipped configuration -> process
SHIPPED_PORTS = {
    9090: "prometheus",
    9093: "alertmanager",
    9100: "node_exporter",
    10150: "exporter",
    10155: "webhook",
}
PROGRAMS: dict[str, Any] = assets.load_yaml(Path(__file__).with_name("programs.yaml").read_text())


class Stack:
    """Simulated server, exporter, node_exporter, Alertmanager, Prometheus, and Grafana if it is installed.

    directory: an empty directory; gets configuration, data and NAME.log of each process.
    """

    def __init__(
        self,
        processes: Processes,
        ports: Ports,
        pace: Pace,
        directory: Path,
        simulator: Sequence[str],
    ) -> None:
        self.ports = ports
        self.pace = pace
        self._processes = processes
        self._directory = directory
        self._simulator = simulator

    def start(self) -> None:
        """Start all processes and wait until each is ready. Raises UserError if one is not."""
        self._write_configuration()
        values = self._values()
        programs = {name: each for name, each in PROGRAMS.items() if name != "grafana" or grafana_home()}
        for name, each in programs.items():
            arguments = [word.format(**values) for word in each.get("arguments", ())]
            if name == "simulator":
                arguments += self._simulator
            environment = {key: text.format(**values) for key, text in each.get("environment", {}).items()}
            self._processes.start(name, [*_command(name, each), *arguments], os.environ | environment)
        deadline = time.monotonic() + START_SECONDS
        for name, each in programs.items():
            if path := each.get("ready"):
                self._await(name, f"{self.url(name)}{path}", deadline)

    def _values(self) -> dict[str, object]:
        """What stands in braces in programs.yaml."""
        return {
            **asdict(self.ports),
            "host": HOST,
            "directory": self._directory,
            "speed": f"{self.pace.speed:g}",
            "login": LOGIN,
            "password": self.password(),
            "home": grafana_home(),
            "assets": assets.directory("."),
            "whole_interval": math.ceil(self.pace.scrape_interval),
        }

    def url(self, name: str) -> str:
        """Return the base URL of a process, by the name of its port."""
        return f"http://{HOST}:{getattr(self.ports, name)}"

    def addresses(self) -> dict[str, str]:
        """Return the addresses to show to the user, by name."""
        addresses = {
            "Prometheus": self.url("prometheus"),
            "Alertmanager": self.url("alertmanager"),
            "exporter": self.url("exporter"),
            "simulated ASE": f"{HOST}:{self.ports.simulator}, login {LOGIN}",
        }
        if grafana_home():
            return {"Grafana": self.url("grafana")} | addresses
        return addresses

    def example_commands(self) -> list[str]:
        """Return commands to try in another terminal, relative to the current directory."""
        command, configuration = (
            os.path.relpath(path) for path in (_own_command("ase-exporter"), self._directory / "exporter.yml")
        )
        run = f"--length {RUN_SECONDS / self.pace.speed:g} --settle {self.pace.scrape_interval:g}"
        return [
            f"{command} advise --config.file {configuration}",
            f"{command} changes --url {self.url('exporter')}   # from the second run on",
            f"{command} compare --prometheus {self.url('prometheus')} --target {SERVER}"
            f' --around "enable mem scale 0" {run}   # from the third run on',
        ]

    def password(self) -> str:
        """Return the password of the simulated server's login, which is new in every demo."""
        return (self._directory / "password").read_text()

    def _write_configuration(self) -> None:
        rules = self._directory / "rules"
        rules.mkdir()
        for path in assets.directory("rules").glob("*.yaml"):
            (rules / path.name).write_text(scaled_rules(path.read_text(), self.pace))
        prometheus = self._shipped("prometheus/prometheus.yml")
        (self._directory / "prometheus.yml").write_text(
            scaled_prometheus(prometheus, self.pace, f"{rules}/*.yaml")
        )
        alertmanager = self._shipped("alertmanager/alertmanager.yml")
        templates = str(assets.directory("alertmanager") / "templates" / "*.tmpl")
        (self._directory / "alertmanager.yml").write_text(
            scaled_alertmanager(alertmanager, self.pace, templates)
        )
        password = self._directory / "password"
        password.touch(mode=0o600)
        password.write_text(secrets.token_hex(12))
        (self._directory / "exporter.yml").write_text(yaml.safe_dump(self._exporter_configuration(password)))

    def _exporter_configuration(self, password: Path) -> dict[str, object]:
        return {
            "targets": [{"name": SERVER, "host": HOST, "port": self.ports.simulator}],
            "auth": {"default": {"user": LOGIN, "password_file": str(password)}},
            # The scrape interval is shorter than a login may take, and reading so often exceeds any sensible budget.
            "scrape": {"min_timeout": "5s", "budget": None},
            # Each run begins with configuration changes; checked once a minute, they would be found after its end.
            "changes": {"interval": f"{max(1.0, self.pace.scrape_interval):g}s"},
        }

    def _shipped(self, path: str) -> str:
        """Return a file of `assets` with the demo's ports."""
        text = assets.directory(path).read_text()
        for port, name in SHIPPED_PORTS.items():
            text = text.replace(f"127.0.0.1:{port}", f"{HOST}:{{{name}}}")
        for name in SHIPPED_PORTS.values():
            text = text.replace(f"{{{name}}}", str(getattr(self.ports, name)))
        return text

    def _await(self, name: str, url: str, deadline: float) -> None:
        with httpx2.Client(timeout=2.0, trust_env=False) as client:
            while True:
                self._processes.check()
                try:
                    if client.get(url).is_success:
                        return
                except httpx2.TransportError:
                    pass
                if time.monotonic() > deadline:
                    raise UserError(
                        f"demo: {name} does not answer at {url} (see {self._directory}/{name}.log)"
                    )
                time.sleep(0.05)


def grafana_home() -> Path | None:
    """Return Grafana's home: GRAFANA_HOME, or the packaged one if a binary is on PATH; None without Grafana."""
    if home := os.environ.get("GRAFANA_HOME"):
        return Path(home)
    if shutil.which("grafana-server") or shutil.which("grafana"):
        return Path("/usr/share/grafana")
    return None


def _command(name: str, program: Mapping[str, Any]) -> list[str]:
    """The program of an entry of programs.yaml, and a word that it needs first. Raises UserError."""
    if program.get("ours"):
        return [_own_command(program["programs"][0])]
    home = grafana_home() if name == "grafana" else None
    path = f"{home / 'bin'}{os.pathsep}" if home else ""
    for each in program["programs"]:
        if found := shutil.which(each, path=f"{path}{os.environ.get('PATH', '')}"):
            return [found, "server"] if each == "grafana" else [found]
    if home:
        raise UserError(f"demo: no grafana or grafana-server in {home / 'bin'} (GRAFANA_HOME) or on PATH")
    missing = program["programs"][-1]
    raise UserError(
        f"demo: {missing} is not on PATH: install it, or run `make demo` in a checkout, which does"
    )


def _own_command(name: str) -> str:
    """Return the path of a command of this project, installed beside the running Python. Raises UserError."""
    command = Path(sys.executable).parent / name
    if not command.exists():
        raise MissingExtraError(f"demo needs {name}", "demo", "in a checkout: make demo")
    return str(command)
