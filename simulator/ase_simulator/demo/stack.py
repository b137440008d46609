"""The demo's processes: writes their configuration from the shipped files, starts them, awaits readiness."""

import asyncio
import math
import os
import secrets
import shutil
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import yaml

from ase_exporter import assets
from ase_simulator.demo.processes import HOST, Ports, Processes
from ase_simulator.demo.scaling import Pace, scaled_alertmanager, scaled_prometheus, scaled_rules
from ase_simulator.sql.logins import FULL, Login
from ase_simulator.usage import UsageError

SERVER = "DEMO"
START_SECONDS = 30.0
_EXPORTER = Path(sys.executable).with_name("ase-exporter")
# Process -> the path that answers once it is ready.
_READY = {
    "node_exporter": "/",
    "alertmanager": "/-/ready",
    "prometheus": "/-/ready",
    "exporter": "/-/ready",
    "grafana": "/api/health",
}
# Port in the shipped configuration -> process.
_SHIPPED_PORTS = {
    9090: "prometheus",
    9093: "alertmanager",
    9100: "node_exporter",
    10150: "exporter",
    10155: "webhook",
}
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Stack:
    """Exporter, node_exporter, Alertmanager, Prometheus, and Grafana if it is installed, around a simulated server.

    directory: an empty directory; gets configuration, data and NAME.log of each process. password: of the simulated
    server's logins, new in every demo: an administrator can change settings while it runs.
    """

    def __init__(self, processes: Processes, ports: Ports, pace: Pace, directory: Path) -> None:
        self.ports = ports
        self.pace = pace
        self.password = secrets.token_hex(12)
        self._processes = processes
        self._directory = directory

    @property
    def logins(self) -> list[Login]:
        """The simulated server's logins."""
        return [
            Login("monitor", self.password, roles=["mon_role"]),
            Login("sa", self.password, roles=list(FULL)),
        ]

    async def start(self, stop: asyncio.Event) -> None:
        """Start all processes and wait until each is ready, or until `stop`. Raises UsageError if one is not."""
        self._write_configuration()
        commands = self._commands()
        for name, command in commands.items():
            more = self._grafana_settings() if name == "grafana" else {}
            self._processes.start(name, command, os.environ | more)
        deadline = time.monotonic() + START_SECONDS
        for name in commands:
            url = f"{self.url(name)}{_READY[name]}"
            while not stop.is_set() and not await asyncio.to_thread(_answers, url):
                self._processes.check()
                if time.monotonic() > deadline:
                    log = self._directory / f"{name}.log"
                    raise UsageError(f"demo: {name} does not answer at {url} (see {log})")
                await asyncio.sleep(0.05)

    def url(self, name: str) -> str:
        """Return the base URL of a process, by the name of its port."""
        return f"http://{HOST}:{getattr(self.ports, name)}"

    def addresses(self) -> dict[str, str]:
        """Return the addresses to show to the user, by name."""
        grafana = {"Grafana": self.url("grafana")} if grafana_home() else {}
        return grafana | {
            "Prometheus": self.url("prometheus"),
            "Alertmanager": self.url("alertmanager"),
            "exporter": self.url("exporter"),
            "simulated ASE": f"{HOST}:{self.ports.simulator}, logins monitor and sa",
        }

    def example_commands(self, run_seconds: float) -> list[str]:
        """Return commands to try in another terminal, relative to the current directory."""
        command, configuration = map(os.path.relpath, (_EXPORTER, self._directory / "exporter.yml"))
        server = f"--prometheus {self.url('prometheus')} --target {SERVER}"
        run = f"--length {run_seconds:g} --settle {self.pace.scrape_interval:g}"
        return [
            f"{command} top --config.file {configuration}",
            f"{command} advise --config.file {configuration}",
            f"{command} changes --url {self.url('exporter')}   # from the second run on",
            f'{command} compare {server} --around "enable mem scale 0" {run}   # from the third run on',
        ]

    def _commands(self) -> dict[str, list[str | Path]]:
        """The command of each process, in the order in which they are started."""
        directory = self._directory

        def listening(name: str) -> str:
            return f"--web.listen-address={HOST}:{getattr(self.ports, name)}"

        commands: dict[str, list[str | Path]] = {
            "node_exporter": [
                _found("prometheus-node-exporter", "node_exporter"),
                listening("node_exporter"),
            ],
            "alertmanager": [
                _found("prometheus-alertmanager", "alertmanager"),
                f"--config.file={directory}/alertmanager.yml",
                f"--storage.path={directory}/alertmanager",
                "--cluster.listen-address=",
                listening("alertmanager"),
            ],
            "prometheus": [
                _found("prometheus"),
                f"--config.file={directory}/prometheus.yml",
                f"--storage.tsdb.path={directory}/prometheus",
                listening("prometheus"),
            ],
            "exporter": [
                _EXPORTER,
                "serve",
                f"--config.file={directory}/exporter.yml",
                f"--state-dir={directory}/exporter",
                listening("exporter"),
            ],
        }
        if home := grafana_home():
            # The newer of the two programs has commands.
            program = _found("grafana", "grafana-server", path=home / "bin")
            words = ["server"] if Path(program).name == "grafana" else []
            commands["grafana"] = [program, *words, f"--homepath={home}"]
        return commands

    def _grafana_settings(self) -> dict[str, str]:
        files, directory = assets.directory("."), str(self._directory / "grafana")
        return {
            "GF_SERVER_HTTP_ADDR": HOST,
            "GF_SERVER_HTTP_PORT": str(self.ports.grafana),
            "GF_PATHS_DATA": directory,
            "GF_PATHS_LOGS": directory,
            "GF_PATHS_PROVISIONING": f"{files}/grafana/provisioning",
            "GF_AUTH_ANONYMOUS_ENABLED": "true",
            "GF_ANALYTICS_REPORTING_ENABLED": "false",
            "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
            "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES": "false",
            "ASE_EXPORTER_DASHBOARDS": f"{files}/dashboards",
            "PROMETHEUS_URL": self.url("prometheus"),
            # Grafana derives $__rate_interval from it; Prometheus accepts no fractions of a second.
            "SCRAPE_INTERVAL": f"{math.ceil(self.pace.scrape_interval)}s",
        }

    def _write_configuration(self) -> None:
        directory = self._directory
        rules = directory / "rules"
        rules.mkdir()
        for path in assets.directory("rules").glob("*.yaml"):
            (rules / path.name).write_text(scaled_rules(path.read_text(), self.pace))
        prometheus = self._shipped("prometheus/prometheus.yml")
        (directory / "prometheus.yml").write_text(scaled_prometheus(prometheus, self.pace, f"{rules}/*.yaml"))
        alertmanager = self._shipped("alertmanager/alertmanager.yml")
        templates = str(assets.directory("alertmanager") / "templates" / "*.tmpl")
        (directory / "alertmanager.yml").write_text(scaled_alertmanager(alertmanager, self.pace, templates))
        password = directory / "password"
        password.touch(mode=0o600)
        password.write_text(self.password)
        (directory / "exporter.yml").write_text(yaml.safe_dump(self._exporter_configuration(password)))

    def _exporter_configuration(self, password: Path) -> Mapping[str, object]:
        return {
            "targets": [{"name": SERVER, "host": HOST, "port": self.ports.simulator}],
            "auth": {"default": {"user": "monitor", "password_file": str(password)}},
            # The scrape interval is shorter than a login may take, and reading so often exceeds any sensible budget.
            "scrape": {"min_timeout": "5s", "budget": None},
            # Each run begins with configuration changes; checked once a minute, they would be found after its end.
            "changes": {"interval": f"{max(1.0, self.pace.scrape_interval):g}s"},
        }

    def _shipped(self, path: str) -> str:
        """Return a file of the exporter's assets with the demo's ports."""
        text = assets.directory(path).read_text()
        # Twice, because a port of the demo may be a shipped one of another process.
        for port, name in _SHIPPED_PORTS.items():
            text = text.replace(f"127.0.0.1:{port}", f"{HOST}:{{{name}}}")
        for name, port in self.ports._asdict().items():
            text = text.replace(f"{{{name}}}", str(port))
        return text


def grafana_home() -> Path | None:
    """Return Grafana's home: GRAFANA_HOME, or the packaged one if a binary is on PATH; None without Grafana."""
    if home := os.environ.get("GRAFANA_HOME"):
        return Path(home)
    return Path("/usr/share/grafana") if shutil.which("grafana-server") or shutil.which("grafana") else None


def _found(*names: str, path: Path | None = None) -> str:
    """The program of one of these names, as Debian renames some. path: where to look before PATH. Raises UsageError."""
    places = f"{path or ''}{os.pathsep}{os.environ.get('PATH', '')}".strip(os.pathsep)
    found = next(filter(None, (shutil.which(name, path=places) for name in names)), None)
    if found is None:
        raise UsageError(
            f"demo: {names[-1]} is not on PATH: install it, or run `make demo` in a checkout, which does"
        )
    return found


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=2):
            return True
    except OSError:
        return False
