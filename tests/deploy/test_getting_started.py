"""The instructions of docs/getting-started.md work."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from tests.e2e.running import free_ports
from tests.paths import REPOSITORY

from ase_exporter.config import Config, load

PAGE = (REPOSITORY / "docs" / "getting-started.md").read_text()
TOOLS = Path(sys.executable).parent
PATH = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
TIMEOUT = 120.0


def block(language: str, containing: str) -> str:
    """The one fenced block of that language that holds a text."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = [text for tongue, text in blocks if tongue == language and containing in text]
    return str(found)


@contextmanager
def started(command: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        env=os.environ | {"PATH": PATH} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT)


def awaited(url: str, good: Any) -> Any:
    """The JSON at an address as soon as it is good."""
    deadline = time.monotonic() + TIMEOUT
    with httpx2.Client(trust_env=False) as client:
        while True:
            try:
                answer = client.get(url).json()
                if good(answer):
                    return answer
            except (httpx2.TransportError, ValueError):
                answer = None
            assert time.monotonic() < deadline, f"{url}: {answer}"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def simulator_port() -> Iterator[int]:
    with started("ase-simulator --port 0") as process:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1])


def test_the_configuration_for_several_servers_loads(tmp_path: Path) -> None:
    path = tmp_path / "exporter.yaml"
    path.write_text(block("yaml", "reporting"))
    config: Config = load(path)
    assert [target.name for target in config.targets] == ["PROD1", "PROD2"]


@pytest.mark.e2e
@pytest.mark.timeout(400)
def test_prometheus_finds_several_servers_by_the_exporter(simulator_port: int, tmp_path: Path) -> None:
    ports = free_ports()
    exporter, prometheus = f"127.0.0.1:{ports.exporter}", f"127.0.0.1:{ports.prometheus}"
    servers = yaml.safe_load(block("yaml", "reporting"))
    for target in servers["targets"]:
        target |= {"host": "127.0.0.1", "port": simulator_port}
    (tmp_path / "password").write_text("exporter\n")
    for auth in servers["auth"].values():
        auth["password_file"] = str(tmp_path / "password")
    (tmp_path / "exporter.yaml").write_text(yaml.safe_dump(servers))
    scrapes = yaml.safe_load(block("yaml", "http_sd_configs").replace("127.0.0.1:10150", exporter))
    scrapes["global"] = {"scrape_interval": "5s"}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(scrapes))

    with ExitStack() as running:
        options = f"--config.file={tmp_path}/exporter.yaml --web.listen-address={exporter}"
        running.enter_context(started(f"ase-exporter serve {options}"))
        awaited(f"http://{exporter}/targets", lambda answer: len(answer) == 2)
        options = f"--config.file={tmp_path}/prometheus.yml --storage.tsdb.path={tmp_path}/data"
        running.enter_context(started(f"prometheus {options} --web.listen-address={prometheus}"))
        query = f"http://{prometheus}/api/v1/query?query=ase_up==1"
        answer = awaited(query, lambda found: len(found["data"]["result"]) == 2)
        found = {each["metric"]["instance"]: each["metric"] for each in answer["data"]["result"]}
        assert found.keys() == {"PROD1", "PROD2"}
        assert found["PROD1"]["team"] == "trading"
        assert {labels["job"] for labels in found.values()} == {"ase"}


def test_what_the_page_installs_is_there_and_where_the_unit_looks_for_it() -> None:
    commands = block("sh", "systemctl enable")
    shipped = {word for word in commands.split() if word.startswith("deploy/")}
    assert shipped and all((REPOSITORY / name).is_file() for name in shipped)
    unit = (REPOSITORY / "deploy" / "systemd" / "ase-exporter.service").read_text()
    assert "--config.file=/etc/ase-exporter/exporter.yaml " in unit
    assert "useradd" in commands and "\nUser=ase-exporter\n" in unit
    (directory,) = set(re.findall(r"(\S+)/pip install", block("sh", "--require-hashes")))
    assert f"ExecStart={directory}/ase-exporter " in unit
