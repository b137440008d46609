"""docker-compose.yml and its image: contained, pinned, consistent with what it mounts."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.fenced import block
from tests.paths import DEPLOY, REPOSITORY
from typer.testing import CliRunner

from ase_exporter.assets import load_yaml
from ase_exporter.config import from_environment
from ase_simulator import cli

COMPOSE = REPOSITORY / "docker-compose.yml"
FLEET = DEPLOY / "scale-out" / "docker-compose.yml"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
# ${NAME:-default} or ${NAME}
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::-([^}]*))?\}")
SECRET_NAME = re.compile(r"password|token|secret", re.IGNORECASE)


def with_defaults(value: str) -> str:
    return VARIABLE.sub(lambda found: found[2] or "", value)


def content(path: Path = COMPOSE) -> dict[str, Any]:
    loaded: dict[str, Any] = load_yaml(path.read_text())
    return loaded


SERVICES: dict[str, dict[str, Any]] = content()["services"]
every_service = pytest.mark.parametrize(
    ("path", "name"),
    [
        (path, name)
        for path in (COMPOSE, FLEET)
        for name, service in content(path)["services"].items()
        if "extends" not in service
    ],
    ids=lambda value: value.parent.name if isinstance(value, Path) else value,
)


def env_example() -> tuple[dict[str, str], dict[str, str]]:
    """What .env.example sets, and what it offers in comments."""
    given: dict[str, str] = {}
    offered: dict[str, str] = {}
    for line in (REPOSITORY / ".env.example").read_text().splitlines():
        if found := re.fullmatch(r"(# )?([A-Z_]+)=(\S*)", line):
            (offered if found[1] else given)[found[2]] = found[3]
    return given, offered


@every_service
def test_a_service_is_contained_limited_and_has_a_version_and_a_health_check(path: Path, name: str) -> None:
    service = content(path)["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "user", "devices"} & service.keys()
    assert service.get("network_mode", "service:alertmanager") == "service:alertmanager"
    limits = service["deploy"]["resources"]["limits"]
    assert set(limits) == {"cpus", "memory", "pids"}
    # Docker refuses to start a container whose limit exceeds the machine's CPUs.
    assert float(with_defaults(limits["cpus"])) <= 1
    assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])
    # The images built here bring one.
    assert "healthcheck" in service or service["image"].startswith("ase-")
    assert all(with_defaults(port).startswith("127.0.0.1:") for port in service.get("ports", []))


@pytest.mark.parametrize("path", [COMPOSE, FLEET], ids=lambda path: path.parent.name)
def test_each_image_of_ours_is_built_once_and_never_pulled(path: Path) -> None:
    services = [service for service in content(path)["services"].values() if "image" in service]
    ours = {service["image"] for service in services if "/" not in service["image"]}
    built = [service["image"] for service in services if "build" in service]
    assert ours and sorted(built) == sorted(ours)
    others = [each for each in services if each["image"] in ours and "build" not in each]
    assert others and {each["pull_policy"] for each in others} == {"never"}


@every_service
def test_what_a_service_mounts_exists_and_is_read_only(path: Path, name: str) -> None:
    whole = content(path)
    for volume in whole["services"][name].get("volumes", []):
        source, _, rest = with_defaults(volume).partition(":")
        if source.startswith((".", "/")):
            assert (path.parent / source).exists(), source
            assert "ro" in rest.partition(":")[2].split(","), f"{volume} may be written"
        else:
            assert source in whole["volumes"]


def test_secrets_come_from_files_and_stand_in_no_environment() -> None:
    assert all(set(secret) == {"file"} for secret in content()["secrets"].values())
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert not SECRET_NAME.search(name) or value.startswith("/run/secrets/") or value == "true"


def test_the_exporters_environment_is_a_configuration_that_watches_the_simulator() -> None:
    environment = {name: with_defaults(value) for name, value in SERVICES["exporter"]["environment"].items()}
    (target,) = from_environment(environment).targets
    assert (target.host, target.port) == ("simulator", 5000)
    assert "--port=5000" in SERVICES["simulator"]["command"]


def test_the_demos_password_is_the_simulators_own() -> None:
    user = with_defaults(SERVICES["exporter"]["environment"]["ASE_USER"])
    password = (REPOSITORY / with_defaults(content()["secrets"]["ase_password"]["file"])).read_text().strip()
    assert f"{user}:{password}" in CliRunner().invoke(cli.app, ["--help"], env={"COLUMNS": "200"}).stdout


def test_a_real_server_takes_three_lines_in_one_file() -> None:
    given, _ = env_example()
    assert list(given) == ["COMPOSE_PROFILES", "ASE_HOST", "ASE_PASSWORD_FILE"]
    assert SERVICES["simulator"]["profiles"] == [given["COMPOSE_PROFILES"]]
    assert SERVICES["exporter"]["depends_on"]["simulator"]["required"] is False


def test_every_setting_is_offered_in_env_example_with_its_default() -> None:
    given, offered = env_example()
    defaults = dict(VARIABLE.findall(COMPOSE.read_text()))
    example = {**offered, **given}
    del example["COMPOSE_PROFILES"]
    assert example == defaults


def test_prometheus_scrapes_what_the_page_shows_and_what_it_does_without_containers_and_the_host() -> None:
    text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    shown = load_yaml(block("docs/getting-started.md", "yaml", "http_sd_configs"))["scrape_configs"]
    assert shown == load_yaml(text)["scrape_configs"][: len(shown)]
    for port, name in {
        10150: "exporter",
        9100: "node-exporter",
        9090: "prometheus",
        9093: "alertmanager",
    }.items():
        assert name in SERVICES
        text = text.replace(f"127.0.0.1:{port}", f"{name}:{port}")
    expected = load_yaml(text.replace("../../alerts/rules/", "rules/"))
    host = {"job_name": "host", "static_configs": [{"targets": ["host:10150"]}]}
    expected["scrape_configs"].append(host)
    assert load_yaml((DEPLOY / "docker" / "prometheus.yml").read_text()) == expected and "host" in SERVICES


def test_the_demo_listens_where_the_shipped_alertmanager_sends_to() -> None:
    webhook = SERVICES["webhook"]
    assert webhook["network_mode"] == "service:alertmanager"
    (port,) = webhook["command"]
    shipped = load_yaml((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())
    urls = [each["url"] for receiver in shipped["receivers"] for each in receiver.get("webhook_configs", [])]
    assert urls and all(url.startswith(f"http://127.0.0.1:{port}/") for url in urls)


def test_the_images_run_as_nobody_in_particular_and_pull_no_frontend() -> None:
    text = DOCKERFILE.read_text()
    assert "# syntax" not in text
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10150:10150"] * 2
    # The last target is the one that is built without --target.
    assert re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE) == ['["ase-simulator"]', '["ase-exporter"]']


def test_the_image_is_built_from_the_sources_and_nothing_else() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text().splitlines()
    kept = {line[1:] for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert all((REPOSITORY / name).exists() for name in kept)
    copied = [
        shlex.split(line)[1:-1]
        for line in DOCKERFILE.read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
    ]
    assert {name for names in copied for name in names} <= kept | {"."}
