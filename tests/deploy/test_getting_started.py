"""The instructions of docs/getting-started.md work."""

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.deploy.fenced import blocks
from tests.e2e.test_sharding import until_all_are_up
from tests.exporter.compare.conftest import running_prometheus
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import PASSWORD, run
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.config import Config, load

PAGE = "docs/getting-started.md"


def block(language: str, containing: str) -> str:
    """The one fenced block of that language that holds a text."""
    (found,) = [each.text for each in blocks(language) if each.page == PAGE and containing in each.text]
    return found


def test_the_configuration_for_several_servers_loads(tmp_path: Path) -> None:
    path = tmp_path / "exporter.yaml"
    path.write_text(block("yaml", "reporting"))
    config: Config = load(path)
    assert [target.name for target in config.targets] == ["PROD1", "PROD2"]


@pytest.mark.e2e
@pytest.mark.timeout(400)
def test_prometheus_finds_several_servers_by_the_exporter(tmp_path: Path) -> None:
    servers = load_yaml(block("yaml", "reporting"))
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    for auth in servers["auth"].values():
        auth |= {"user": "monitor", "password_file": str(tmp_path / "password")}
    (tmp_path / "prometheus").mkdir()
    with run("16.0 SP04") as server:
        for target in servers["targets"]:
            target["host"], target["port"] = server.address
        configuration = json.dumps(servers | {"scrape": PATIENT})
        with exporter(tmp_path, configuration) as running:
            address = running.url.removeprefix("http://")
            scrapes = load_yaml(block("yaml", "http_sd_configs").replace("127.0.0.1:10150", address))
            scrapes["global"] = {"scrape_interval": "5s"}
            (tmp_path / "prometheus" / "prometheus.yml").write_text(yaml.safe_dump(scrapes))
            with running_prometheus(tmp_path / "prometheus") as url, Prometheus(url) as prometheus:
                ups = until_all_are_up(prometheus, len(servers["targets"]))
    found = {sample.labels["instance"]: sample.labels for sample in ups}
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
    (directory,) = set(re.findall(r"(\S+)/pip install", block("sh", "-r requirements.txt")))
    assert f"ExecStart={directory}/ase-exporter " in unit
