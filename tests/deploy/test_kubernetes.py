"""The Kubernetes manifests: what kustomize makes of them is consistent and contained."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.paths import REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.config import load

MANIFESTS = REPOSITORY / "deploy" / "kubernetes"
# Kubernetes' own limit, in bytes.
MAX_CONFIGMAP = 2**20

kubectl = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl (for kustomize) is not installed")


def built(directory: Path) -> dict[str, dict[str, Any]]:
    """What kustomize makes of a directory, by kind."""
    made = subprocess.run(["kubectl", "kustomize", directory], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    objects = list(yaml.safe_load_all(made.stdout))
    assert len({each["kind"] for each in objects}) == len(objects)
    return {each["kind"]: each for each in objects}


def read(name: str) -> Any:
    """The first document of a manifest."""
    return next(iter(yaml.safe_load_all((MANIFESTS / name).read_text())))


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = read("deployment.yaml")["spec"]["template"]["spec"]
    return spec


def dashboards_configmap() -> dict[str, Any]:
    """What the commands of the README make of the dashboards, up to the API server."""
    (commands,) = re.findall(
        r"```sh\n(kubectl [^`]*dashboards[^`]*)```", (MANIFESTS / "README.md").read_text()
    )
    offline = commands.replace("| kubectl apply --server-side -f -", "")
    made = subprocess.run(offline, shell=True, cwd=REPOSITORY, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    configmap: dict[str, Any] = load_yaml(made.stdout)
    return configmap


def test_every_manifest_is_part_of_a_kustomization_but_the_example_of_a_secret() -> None:
    used = {"secret.example.yaml"}
    for path in MANIFESTS.rglob("kustomization.yaml"):
        content = load_yaml(path.read_text())
        names = content["resources"] + [
            each for made in content.get("configMapGenerator", []) for each in made["files"]
        ]
        used |= {str((path.parent / name).relative_to(MANIFESTS)) for name in ["kustomization.yaml", *names]}
    assert used == {str(path.relative_to(MANIFESTS)) for path in MANIFESTS.rglob("*.yaml")}


@kubectl
def test_service_and_policy_and_deployment_meet_in_one_namespace() -> None:
    objects = built(MANIFESTS)
    assert set(objects) == {
        *("Namespace", "ConfigMap", "Service", "PersistentVolumeClaim", "Deployment", "NetworkPolicy")
    }
    namespace = objects.pop("Namespace")["metadata"]["name"]
    assert {each["metadata"]["namespace"] for each in objects.values()} == {namespace}
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert objects["Service"]["spec"]["selector"].items() <= labels.items()
    volumes = {each["name"]: each for each in objects["Deployment"]["spec"]["template"]["spec"]["volumes"]}
    assert volumes["config"]["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    claim = volumes["state"]["persistentVolumeClaim"]["claimName"]
    assert claim == objects["PersistentVolumeClaim"]["metadata"]["name"]


@kubectl
def test_the_command_for_dashboards_makes_a_configmap_of_all_of_them_that_grafana_finds() -> None:
    configmap = dashboards_configmap()
    assert configmap["metadata"]["labels"] == {"grafana_dashboard": "1"}
    dashboards = (REPOSITORY / "dashboards" / "json").iterdir()
    assert configmap["data"] == {path.name: path.read_text() for path in dashboards}
    assert sum(map(len, configmap["data"].values())) < MAX_CONFIGMAP


@kubectl
def test_the_operators_objects_find_the_service() -> None:
    service, monitoring = built(MANIFESTS)["Service"], built(MANIFESTS / "monitoring")
    wanted = monitoring["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    address = f"{host}:{service['spec']['ports'][0]['port']}"
    scrape = monitoring["ScrapeConfig"]["spec"]
    assert scrape["httpSDConfigs"] == [{"url": f"http://{address}/targets"}]
    relabelled = {each["targetLabel"]: each.get("replacement") for each in scrape["relabelings"]}
    assert relabelled == {"__param_target": None, "instance": None, "__address__": address, "job": "ase"}


def test_the_pod_fulfils_the_restricted_pod_security_standard() -> None:
    spec, (container,) = pod(), pod()["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    kinds = {next(key for key in volume if key != "name") for volume in spec["volumes"]}
    assert kinds <= {"configMap", "secret", "persistentVolumeClaim", "emptyDir"}
    assert read("namespace.yaml")["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }


def test_what_the_command_line_names_is_mounted() -> None:
    (container,) = pod()["containers"]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    options = dict(word.split("=", 1) for word in container["args"][1:])
    assert mounts[str(Path(options["--config.file"]).parent)] == "config"
    assert mounts[options["--state-dir"]] == "state"
    assert set(mounts.values()) == {volume["name"] for volume in pod()["volumes"]}
    password = load(MANIFESTS / "exporter.yaml").auth["default"].password_file
    assert password is not None
    assert mounts[str(password.parent)] == "secret"
    assert password.name in read("secret.example.yaml")["stringData"]


def test_the_policy_lets_out_to_the_servers_ports() -> None:
    ports = {port["port"] for rule in read("networkpolicy.yaml")["spec"]["egress"] for port in rule["ports"]}
    assert {target.port for target in load(MANIFESTS / "exporter.yaml").targets} <= ports
