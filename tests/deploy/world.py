"""The environment of a reader of the documents: server, exporter, Prometheus with history, Alertmanager."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from tests.deploy.fenced import block
from tests.exporter.compare.conftest import phases, running_prometheus, store
from tests.exporter.running_exporter import PATIENT
from tests.paths import REPOSITORY
from tests.programs import START, listening

from ase_exporter.assets import load_yaml

TOOLS = Path(sys.executable).parent
# SAP's isql is not available; FreeTDS has one with the same options. The simulated sa needs no password.
ISQL = "#!/bin/sh\nexec fisql -U sa -P '' \"$@\" </dev/null\n"
UNTIL_READY = f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("until_ready.py")} "$@"\n'
SERVERS = ("PROD", "PROD1")
# How the exporter of this world and Prometheus are configured is as this page shows it.
PAGE = "docs/getting-started.md"
PASSWORD = "simulated"


@dataclass(frozen=True)
class World:
    """directory: the checkout as the reader sees it, with the files that documents speak of."""

    directory: Path
    environment: dict[str, str]
    simulator: int
    prometheus: str
    alertmanager: str

    def here(self, text: str) -> str:
        """Commands and code with this world's addresses and directories for those of the documents."""
        for theirs, ours in (
            ("http://127.0.0.1:9090", self.prometheus),
            ("http://127.0.0.1:9093", self.alertmanager),
            ("ase1.example.com ASE_PORT=5000", f"127.0.0.1 ASE_PORT={self.simulator}"),
            ("/var/lib/ase-exporter", str(self.directory / "state")),
            # The past is Prometheus's alone: the exporter here, to which annotations go, knows nothing of it.
            ("ase-exporter compare", "env -u ASE_EXPORTER_URL ase-exporter compare"),
            # What would not end is ended once it listens, wherever a port is free.
            (
                "ase-exporter setup",
                f"env ASE_USER=monitor ASE_PASSWORD={PASSWORD} ase-exporter setup"
                f" --output {self.directory / 'setup'}",
            ),
            ("ase-exporter serve", "until-ready ase-exporter serve --web.listen-address=127.0.0.1:0"),
            ("ase-simulator --port 5000", "until-ready ase-simulator --port 0"),
        ):
            text = text.replace(theirs, ours)
        return text

    def run(self, script: str) -> "subprocess.CompletedProcess[str]":
        """Run a shell script in this environment; it ends at the first failure."""
        return subprocess.run(
            # The last command is none of the script's: a shell becomes its last one, and could not be told by it.
            ["bash", "-euo", "pipefail", "-c", f"{script}\n:"],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=2 * START,
        )


@contextlib.contextmanager
def world(directory: Path) -> Iterator[World]:
    """Start everything and stop it at the end of the block. directory: an empty one."""
    furnish(directory)
    environment = os.environ | {
        "PATH": f"{directory / 'bin'}{os.pathsep}{TOOLS}{os.pathsep}{os.environ['PATH']}",
        "FREETDSCONF": str(directory / "freetds.conf"),
        "HOME": str(directory),
        # Dozens of commands start here: the first one compiles for all.
        "PYTHONDONTWRITEBYTECODE": "",
        "ASE_HOST": "127.0.0.1",
        "ASE_USER": "sa",
        "ASE_PASSWORD": "",
        "ASE_NAME": "PROD",
    }
    with contextlib.ExitStack() as running:

        def start(command: str, *more: str) -> int:
            log = directory / f"{command}.log"
            return running.enter_context(listening(log, *command.split(), *more, environment=environment))

        # sa has no password.
        environment["ASE_SIMULATOR_LOGIN"] = f"sa: monitor:{PASSWORD}"
        simulator = start("ase-simulator", "--port=0", "--scenario=quiet-oltp", "--speed=60")
        environment["ASE_PORT"] = str(simulator)
        (directory / "freetds.conf").write_text(
            "".join(
                f"[{name}]\nhost = 127.0.0.1\nport = {simulator}\ntds version = 5.0\n" for name in SERVERS
            )
        )
        (directory / "served.yaml").write_text(configuration(simulator, directory))
        exporter = start(
            "ase-exporter serve",
            f"--config.file={directory / 'served.yaml'}",
            f"--state-dir={directory / 'state'}",
            "--web.listen-address=127.0.0.1:0",
            "--web.enable-annotations",
        )
        environment["ASE_EXPORTER_URL"] = f"http://127.0.0.1:{exporter}"
        scrapes = load_yaml(
            block(PAGE, "yaml", "http_sd_configs").replace("127.0.0.1:10150", f"127.0.0.1:{exporter}")
        )
        scrapes["global"] = {"scrape_interval": "15s"}
        (directory / "prometheus" / "prometheus.yml").write_text(yaml.safe_dump(scrapes))
        alertmanager = start(
            "prometheus-alertmanager",
            f"--config.file={REPOSITORY}/deploy/alertmanager/alertmanager.yml",
            f"--storage.path={directory / 'alertmanager'}",
            "--web.listen-address=127.0.0.1:0",
            "--cluster.listen-address=",
        )
        prometheus = running.enter_context(running_prometheus(directory / "prometheus"))
        environment["ASE_EXPORTER_PROMETHEUS"] = prometheus
        yield World(directory, environment, simulator, prometheus, f"http://127.0.0.1:{alertmanager}")


def configuration(port: int, directory: Path) -> str:
    """The servers of the page, and the one of which other pages speak, all of them the simulated one."""
    found = load_yaml(block(PAGE, "yaml", "reporting"))
    password = directory / "password"
    password.write_text(f"{PASSWORD}\n")
    found["targets"].append({"name": "PROD"})
    for target in found["targets"]:
        target |= {"host": "127.0.0.1", "port": port}
    for auth in found["auth"].values():
        auth |= {"user": "monitor", "password_file": str(password)}
    return json.dumps(found | {"scrape": PATIENT})


def furnish(directory: Path) -> None:
    """The checkout by links, programs that stand in, and Prometheus's past."""
    for path in REPOSITORY.iterdir():
        if not path.name.startswith(".") or path.name == ".env.example":
            (directory / path.name).symlink_to(path)
    for name in ("bin", "prometheus"):
        (directory / name).mkdir()
    for name, script in (("isql", ISQL), ("until-ready", UNTIL_READY)):
        (directory / "bin" / name).write_text(script)
        (directory / "bin" / name).chmod(0o755)
    (directory / "ase_password").write_text("CHANGE_ME\n")
    (directory / "reorg.sql").write_text("select @@servername\ngo\n")
    (directory / "sysmon.sql").write_text("exec sp_sysmon '00:01:00', noclear\ngo\n")

    # Four hours of the server ASE1, until now.
    works = {"base": (0.041, 1000, 0.90, 0.856), "TSX": (0.031, 1200, 0.86, 0.579)}
    history = phases(int(time.time()) - 4 * 3600, 120, works).lines()
    store([*history, *recorded()], directory / "prometheus")


def recorded() -> list[str]:
    """What the shipped rules would have recorded of the last hour of that server, and the exporter have found."""
    now = int(time.time())
    server, found = 'instance="ASE1"', 'finding="spins",word="SPINS"'
    figures = {
        f"ase:cpu_busy:ratio_rate1m{{{server}}}": 0.86,
        f"ase:cpu_spinning:ratio_rate1m{{{server}}}": 0.2,
        f"ase:cpu_units:rate1m{{{server}}}": 12.0,
        f"ase:transactions:rate1m{{{server}}}": 1200.0,
        f"ase_diagnosis_rank{{{server},{found}}}": 1.0,
        f'ase_diagnosis_first_info{{{server},{found},kind="",subject=""}}': 1.0,
    }
    return [
        f"{metric} {value} {at}" for metric, value in figures.items() for at in range(now - 3600, now, 60)
    ]
