"""docker-compose.yml run for real, where there is an engine; left out, saying so, where there is none."""

import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.paths import REPOSITORY
from tests.programs import eventually

from ase_exporter.assets import load_yaml

DOCKERFILE = REPOSITORY / "deploy" / "docker" / "Dockerfile"
# An address of its own, so that its ports meet nobody's.
ADDRESS = "127.0.0.119"
PROJECT = "ase-exporter-test"
IMAGE = "ase-exporter:0.1.0"
TIMEOUT = 240.0
# A memscale run begins with contention; the alert waits five minutes, Alertmanager and the first rates another.
ALERT_TIMEOUT = 540.0
SECRET_FILE = re.compile(
    r"(^|/)(\.git|\.env|\.netrc|\.ssh|pip\.conf|id_[a-z0-9]+|ase_password|[^/]+\.key)(/|$)"
)
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{16}")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def docker(*words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PUBLISH": ADDRESS}
    return subprocess.run(["docker", *words], cwd=REPOSITORY, capture_output=True, text=True, env=environment)


def compose(*words: str) -> subprocess.CompletedProcess[str]:
    return docker("compose", "--env-file", ".env.example", "--project-name", PROJECT, *words)


def obtainable(image: str) -> bool:
    """Whether an image is there, or can be pulled."""
    return not docker("image", "inspect", image).returncode or not docker("pull", "--quiet", image).returncode


def asked(path: str) -> Any:
    """What Prometheus answers."""
    with httpx2.Client(trust_env=False, timeout=30) as client:
        return client.get(f"http://{ADDRESS}:9090/api/v1/{path}").json()["data"]


@pytest.fixture(scope="module")
def engine() -> None:
    """There is one, and compose."""
    try:
        usable = docker("info").returncode == 0 and docker("compose", "version").returncode == 0
    except FileNotFoundError:
        usable = False
    if not usable:
        pytest.skip("no container engine, or no docker compose: nothing was run")


@pytest.fixture(scope="module")
def image(engine: None) -> dict[str, Any]:
    """Our image, built from these sources, as the engine describes it."""
    base = re.findall(r"^ARG PYTHON=(\S+)$", DOCKERFILE.read_text(), re.MULTILINE)[0]
    if not obtainable(base):
        pytest.skip(f"no image {base}: ours was not built")
    built = docker("build", "--file", str(DOCKERFILE), "--tag", IMAGE, ".")
    assert built.returncode == 0, built.stderr
    (described,) = json.loads(docker("image", "inspect", IMAGE).stdout)
    (below,) = json.loads(docker("image", "inspect", base).stdout)
    return dict(described, below=len(below["RootFS"]["Layers"]))


@pytest.fixture(scope="module")
def running(image: dict[str, Any]) -> Iterator[set[str]]:
    """The names of the services that run, all of them healthy."""
    services = load_yaml((REPOSITORY / "docker-compose.yml").read_text())["services"]
    names, images = services.keys(), {service["image"] for service in services.values()}
    # Those without a registry are built here.
    if missing := [each for each in images if "/" in each and not obtainable(each)]:
        pytest.skip(f"no images {', '.join(missing)}: the stack was not run")
    try:
        started = compose("up", "--detach", "--wait", *sorted(names))
        assert started.returncode == 0, started.stderr + compose("logs", "--tail=20").stdout
        yield set(names)
    finally:
        ended = compose("down", "--volumes", "--timeout=10")
        assert ended.returncode == 0, ended.stderr
        assert not docker(
            "ps", "--all", "--quiet", f"--filter=label=com.docker.compose.project={PROJECT}"
        ).stdout


def test_every_target_is_up_and_the_simulated_server_answers(running: set[str]) -> None:
    def all_are_up() -> bool:
        targets = asked("targets")["activeTargets"]
        health = {each["labels"]["instance"].partition(":")[0]: each["health"] for each in targets}
        here = {state for name, state in health.items() if name in running}
        return here == {"up"} and bool(asked("query?query=ase_up==1")["result"])

    eventually("all targets are up", all_are_up, TIMEOUT, every=1)


def test_an_alert_arrives_at_the_webhook(running: set[str]) -> None:
    def has_arrived() -> bool:
        arrived = compose("logs", "--no-log-prefix", "webhook").stdout
        return "critical firing AseSpinlockContention DEMO" in arrived

    eventually("the alert arrives", has_arrived, ALERT_TIMEOUT, every=2)


def test_a_container_can_write_to_its_volumes_and_nowhere_else(running: set[str]) -> None:
    for path, written in {"/opt": False, "/etc": False, "/var/lib/ase-exporter": True, "/tmp": True}.items():
        tried = compose(
            "exec", "--no-TTY", "exporter", "sh", "-c", f"echo x >{path}/probe && rm {path}/probe"
        )
        assert (tried.returncode == 0) is written, path + tried.stderr
        assert written or "Read-only file system" in tried.stderr or "ermission denied" in tried.stderr


def test_the_process_is_not_roots_and_has_no_capability(running: set[str]) -> None:
    status = compose("exec", "--no-TTY", "exporter", "cat", "/proc/1/status").stdout
    fields = {name: value.split() for name, _, value in (line.partition(":") for line in status.splitlines())}
    assert fields["Uid"] == fields["Gid"] == ["10150"] * 4
    assert [fields[name] for name in ("CapEff", "CapPrm", "CapBnd")] == [["0" * 16]] * 3
    assert fields["NoNewPrivs"] == ["1"]


def test_the_image_has_no_secret_in_its_environment_or_history(image: dict[str, Any]) -> None:
    assert not any("password" in each.lower() for each in image["Config"]["Env"])
    history = docker("history", "--no-trunc", "--format={{.CreatedBy}}", IMAGE).stdout
    assert "password" not in history.lower()


def test_no_layer_of_ours_holds_a_secret_or_anything_but_the_program(
    image: dict[str, Any], tmp_path: Path
) -> None:
    """Layer by layer, for a file that a later layer deletes is still there to be had."""
    saved = tmp_path / "image.tar"
    assert docker("save", "--output", str(saved), IMAGE).returncode == 0
    names, suspicious = [], []
    with tarfile.open(saved) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        for layer in manifest["Layers"][image["below"] :]:
            with tarfile.open(fileobj=archive.extractfile(layer)) as content:
                for member in content:
                    names.append(member.name)
                    inside = content.extractfile(member) if member.isfile() else None
                    if SECRET_FILE.search(member.name) or (inside and PRIVATE_KEY.search(inside.read())):
                        suspicious.append(member.name)
    assert any(name.endswith("site-packages/ase_exporter/cli.py") for name in names)
    assert suspicious == []
    assert not [name for name in names if re.match(r"(source|root|home|tmp)/.", name)]
