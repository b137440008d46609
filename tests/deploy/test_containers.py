"""docker-compose.yml run for real, where there is an engine; left out, saying so, where there is none."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
# An address of its own, so that its ports meet nobody's.
ADDRESS = "127.0.0.119"
NEEDED = {"simulator", "exporter", "prometheus"}
PATIENCE = 90.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def docker(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env=os.environ | {"PUBLISH": ADDRESS},
    )


def compose(*words: str) -> subprocess.CompletedProcess[str]:
    return docker("compose", "--env-file", ".env.example", "--project-name", "ase-exporter-test", *words)


def obtainable(service: dict[str, Any]) -> bool:
    """Whether the image of a service can be built, is there, or can be pulled."""
    image = service["image"]
    return (
        "build" in service
        or docker("image", "inspect", image).returncode == 0
        or docker("pull", "--quiet", image).returncode == 0
    )


def asked(path: str) -> Any:
    """What Prometheus answers."""
    with httpx.Client(trust_env=False) as client:
        return client.get(f"http://{ADDRESS}:9090/api/v1/{path}").json()["data"]


@pytest.fixture(scope="module")
def running() -> Iterator[set[str]]:
    """The names of the services that run, all of them healthy."""
    try:
        usable = docker("info").returncode == 0 and docker("compose", "version").returncode == 0
    except FileNotFoundError:
        usable = False
    if not usable:
        pytest.skip("no container engine, or no docker compose: the stack was not run")
    services = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    names = {name for name, service in services.items() if obtainable(service)}
    if not names >= NEEDED:
        pytest.skip(f"no images for {', '.join(sorted(NEEDED - names))}: the stack was not run")
    try:
        started = compose("up", "--detach", "--build", "--wait", *sorted(names))
        assert started.returncode == 0, started.stderr + compose("logs", "--tail=20").stdout
        yield names
    finally:
        compose("down", "--volumes", "--timeout=10")


def test_every_target_is_up_and_the_simulated_server_answers(running: set[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        targets = asked("targets")["activeTargets"]
        health = {each["labels"]["instance"].partition(":")[0]: each["health"] for each in targets}
        here = {name: state for name, state in health.items() if name in running}
        if here and set(here.values()) == {"up"} and asked("query?query=ase_up==1")["result"]:
            break
        assert time.monotonic() < deadline, health
        time.sleep(1)


def test_no_container_has_a_capability_or_a_file_system_to_write_to(running: set[str]) -> None:
    for name in running:
        container = compose("ps", "--quiet", name).stdout.strip()
        (state,) = json.loads(docker("inspect", container).stdout)
        assert state["HostConfig"]["ReadonlyRootfs"] is True
        assert state["HostConfig"]["CapDrop"] == ["ALL"]
        assert state["HostConfig"]["Memory"] > 0


def test_the_image_is_not_roots_and_has_no_secret_in_its_history(running: set[str]) -> None:
    (image,) = json.loads(docker("image", "inspect", "ase-exporter:0.1.0").stdout)
    assert image["Config"]["User"] == "10150:10150"
    history = docker("history", "--no-trunc", "--format={{.CreatedBy}}", "ase-exporter:0.1.0").stdout
    assert "password" not in history.lower()
    listed = docker("run", "--rm", "--entrypoint=find", "ase-exporter:0.1.0", "/", "-name", "ase_password")
    assert not listed.stdout
