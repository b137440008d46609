"""deploy/scale-out: valid, contained and consistent. tests/e2e runs it."""

import re
import shutil
from typing import Any

import pytest
from tests.deploy.test_compose import COMPOSE, FLEET, with_defaults
from tests.paths import REPOSITORY
from tests.programs import said_by

from ase_exporter.assets import load_yaml
from ase_exporter.config import load
from ase_simulator.model import load_scenario

SCALE_OUT = REPOSITORY / "deploy" / "scale-out"
SERVICES: dict[str, dict[str, Any]] = load_yaml(FLEET.read_text())["services"]
AGENT: dict[str, Any] = load_yaml((SCALE_OUT / "agent.yml").read_text())
AGENTS = ["agent-a", "agent-b"]


def flags(service: str) -> dict[str, str]:
    words = (with_defaults(word).lstrip("-") for word in SERVICES[service]["command"])
    return dict(word.split("=", 1) for word in words if "=" in word)


def job(name: str) -> dict[str, Any]:
    (found,) = (each for each in AGENT["scrape_configs"] if each["job_name"] == name)
    return dict(found)


def test_prometheus_accepts_the_agents_configuration_and_the_rules() -> None:
    said_by("promtool", "check", "config", "--agent", SCALE_OUT / "agent.yml")
    said_by("promtool", "check", "rules", SCALE_OUT / "rules.yaml")


@pytest.mark.skipif(not shutil.which("vmalert"), reason="vmalert (victoria-metrics) is not installed")
def test_vmalert_accepts_every_rule() -> None:
    said_by(
        "vmalert", "-dryRun", "-rule=alerts/rules/*.yaml", "-rule=deploy/scale-out/rules.yaml", cwd=REPOSITORY
    )


def test_the_rest_is_taken_from_the_file_for_one_machine() -> None:
    base = load_yaml(COMPOSE.read_text())["services"]
    for name, service in SERVICES.items():
        if "extends" not in service:
            continue
        assert service["extends"] == {"file": "../../docker-compose.yml", "service": name}
        assert name in base


def test_every_name_that_is_scraped_or_written_to_is_a_service() -> None:
    targets = {
        target
        for each in AGENT["scrape_configs"]
        for static in each.get("static_configs", [])
        for target in static["targets"]
    }
    urls = {each["url"] for each in AGENT["remote_write"] + job("ase")["http_sd_configs"]}
    urls |= {value for value in flags("vmalert").values() if value.startswith("http")}
    urls.add(SERVICES["grafana"]["environment"]["PROMETHEUS_URL"])
    assert {re.sub(r"^http://|:\d+.*$", "", each) for each in targets | urls} <= SERVICES.keys()


def test_a_server_is_hashed_to_one_of_the_exporters_there_are() -> None:
    exporters = sorted(name for name in SERVICES if name.startswith("exporter-"))
    hashed, addressed, named = job("ase")["relabel_configs"][-3:]
    assert hashed["action"] == "hashmod"
    assert named == {"source_labels": ["__address__"], "target_label": "exporter"}
    assert job("ase")["metric_relabel_configs"] == [{"action": "labeldrop", "regex": "exporter"}]
    found = [addressed["replacement"].replace("$1", str(rest)) for rest in range(hashed["modulus"])]
    assert (
        found
        == [f"{name}:10150" for name in exporters]
        == job("ase-exporter")["static_configs"][0]["targets"]
    )
    assert [each["url"] for each in job("ase")["http_sd_configs"]] == [
        f"http://{each}/targets" for each in found
    ]


def test_both_agents_write_the_same_series_at_the_same_moments() -> None:
    first, second = (SERVICES[name] for name in AGENTS)
    assert "external_labels" not in AGENT["global"]
    assert first["hostname"] == second["hostname"]
    assert first["command"] == second["command"]
    assert first["volumes"][0] == second["volumes"][0] == "./agent.yml:/etc/prometheus/agent.yml:ro"
    assert first["volumes"][1] != second["volumes"][1]


def test_the_interval_is_the_same_everywhere() -> None:
    interval = AGENT["global"]["scrape_interval"]
    assert flags("victoriametrics")["dedup.minScrapeInterval"] == interval
    assert flags("vmalert")["evaluationInterval"] == interval
    shipped = load_yaml((REPOSITORY / "deploy" / "prometheus" / "prometheus.yml").read_text())
    assert shipped["global"] == {"scrape_interval": interval, "evaluation_interval": interval}


def test_jobs_have_the_names_that_alerts_and_dashboards_ask_for() -> None:
    text = "".join(path.read_text() for path in (REPOSITORY / "alerts" / "rules").glob("*.yaml"))
    text += (SCALE_OUT / "rules.yaml").read_text()
    names = {each["job_name"] for each in AGENT["scrape_configs"]}
    assert set(re.findall(r'\bjob="([^"]+)"', text)) <= names


def test_the_simulated_fleet_is_what_the_exporters_read() -> None:
    targets = load(SCALE_OUT / "exporter.yaml").targets
    (scenario,) = (word for word in SERVICES["simulator"]["command"] if word.startswith("--scenario="))
    servers = load_scenario(scenario.partition("=")[2])
    assert [(each.name, each.port) for each in targets] == [
        (server.name, 5000 + number) for number, server in enumerate(servers)
    ]
