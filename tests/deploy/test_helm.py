"""The Helm chart: linted, rendered for several value sets, held against the schemas of Kubernetes and the operator."""

import json
import os
import shutil
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.alerts.shipped import groups
from tests.deploy.kubernetes_schemas import complaints
from tests.paths import DEPLOY, REPOSITORY

from ase_exporter.assets import load_yaml
from ase_exporter.config import load

CHART = DEPLOY / "helm" / "ase-exporter"
HELM = DEPLOY / "dev" / "helm.sh"
VALUES = {path.stem: load_yaml(path.read_text()) for path in sorted((CHART / "ci").glob("*.yaml"))}
POD_KINDS = {"Deployment", "Service", "ConfigMap"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not (shutil.which("helm") or shutil.which("go")),
        reason="neither helm nor go, which builds it, is installed",
    ),
]


def helm(*words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([HELM, *words], capture_output=True, text=True, input=stdin, env=os.environ)


def rendered(values: Any) -> list[dict[str, Any]]:
    """The objects of a release with these values."""
    words = ["template", "ase", str(CHART), "--namespace=monitored", "--kube-version=1.33.0", "--values=-"]
    made = helm(*words, stdin=json.dumps(values))
    assert made.returncode == 0, made.stderr
    return [each for each in yaml.safe_load_all(made.stdout) if each]


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


@pytest.mark.parametrize("name", VALUES)
def test_helm_finds_nothing_to_complain_of(name: str) -> None:
    linted = helm("lint", "--strict", CHART, "--values", CHART / "ci" / f"{name}.yaml")
    assert linted.returncode == 0, linted.stdout
    assert "[WARNING]" not in linted.stdout


@pytest.mark.parametrize("name", VALUES)
def test_every_object_fits_its_schema_and_the_exporter_accepts_the_configuration(
    name: str, tmp_path: Path
) -> None:
    values = VALUES[name]
    objects = rendered(values)
    assert {each["kind"] for each in objects} >= POD_KINDS
    assert [problem for each in objects for problem in complaints(each)] == []
    (text,) = (each["data"]["exporter.yaml"] for each in objects if "exporter.yaml" in each.get("data", {}))
    (tmp_path / "exporter.yaml").write_text(text)
    config = load(tmp_path / "exporter.yaml")
    assert [target.name for target in config.targets] == [each["name"] for each in values["targets"]]
    assert all(
        str(login.password_file).startswith("/etc/ase-exporter/secret/") for login in config.auth.values()
    )


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("reloads", [True, False])
def test_another_target_restarts_the_pod_unless_it_is_reloaded(name: str, reloads: bool) -> None:
    values = {**VALUES[name], "reloader": {"enabled": reloads}, "webConfigSecret": ""}
    before = rendered(values)
    values["targets"] = [*values["targets"], {"name": "NEW", "host": "new.example.com", "port": 4200}]
    after = rendered(values)
    assert (of_kind(before, "Deployment") == of_kind(after, "Deployment")) == reloads
    assert before != after


def test_the_rules_and_dashboards_are_those_of_the_repository() -> None:
    objects = rendered(VALUES["operator-values"])
    assert of_kind(objects, "PrometheusRule")["spec"]["groups"] == groups()
    dashboards = {
        name: text
        for each in objects
        if each["metadata"]["labels"].get("grafana_dashboard") == "1"
        for name, text in each["data"].items()
    }
    assert dashboards == {
        path.name: path.read_text() for path in (REPOSITORY / "dashboards" / "json").iterdir()
    }


def test_what_the_monitoring_selects_is_the_service() -> None:
    objects = rendered(VALUES["operator-values"])
    service, pod = of_kind(objects, "Service"), of_kind(objects, "Deployment")["spec"]["template"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    wanted = of_kind(objects, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    access = VALUES["operator-values"]["scrapeAccess"]
    url = f"https://{service['metadata']['name']}.monitored.svc:10150/targets"
    scraped = of_kind(objects, "ScrapeConfig")["spec"]
    assert scraped["httpSDConfigs"] == [{"url": url, **access}]
    assert scraped.items() >= {"scheme": "HTTPS", **access}.items()
    (endpoint,) = of_kind(objects, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint.items() >= {"scheme": "https", **access}.items()


def test_the_policy_lets_out_to_what_is_configured() -> None:
    values = VALUES["servers-values"] | {"networkPolicy": {"networks": ["10.1.0.0/16"]}}
    plain = of_kind(rendered({**values, "config": {}}), "NetworkPolicy")["spec"]["egress"]
    egress = of_kind(rendered(values), "NetworkPolicy")["spec"]["egress"]
    ports = [{port["port"] for port in rule["ports"]} for rule in egress]
    assert ports == [{53}, {5000, 5100}, {443}]
    assert egress[:2] == plain and "to" not in egress[2]


def test_the_pod_fulfils_the_restricted_pod_security_standard() -> None:
    values = {**VALUES["hardened-values"], "webConfigSecret": "", "reloader": {"enabled": True}}
    spec = of_kind(rendered(values), "Deployment")["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert [each["name"] for each in spec["containers"]] == ["ase-exporter", "reloader"]
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    kinds = {next(key for key in volume if key != "name") for volume in spec["volumes"]}
    assert kinds <= {"configMap", "secret", "persistentVolumeClaim", "emptyDir"}


def test_what_the_command_line_names_is_mounted() -> None:
    spec = of_kind(rendered(VALUES["hardened-values"]), "Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    options = dict(word.split("=", 1) for word in container["args"] if "=" in word)
    assert mounts[str(Path(options["--config.file"]).parent)] == "config"
    assert mounts[str(Path(options["--web.config.file"]).parent)] == "web"
    # A directory of the exporter's own in the volume, which others may write.
    assert mounts[str(Path(options["--state-dir"]).parent)] == "state"
    # What is executed in the container counts refused logins in the same place.
    assert container["env"] == [{"name": "STATE_DIRECTORY", "value": options["--state-dir"]}]
    assert set(mounts.values()) == {volume["name"] for volume in spec["volumes"]}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "replicaz"), 1),
        ("Deployment", ("spec", "replicas"), "one"),
        ("Deployment", ("spec", "template", "spec", "containers", 0, "securityContext", "readOnly"), True),
        ("Service", ("spec", "ports", 0, "port"), "http"),
        ("NetworkPolicy", ("spec", "policyTypes"), "Ingress"),
        ("ServiceMonitor", ("spec", "endpoints", 0, "intervall"), "15s"),
        ("ServiceMonitor", ("spec", "endpoints", 0, "interval"), "a while"),
        ("ScrapeConfig", ("spec", "httpSDConfigs", 0, "url"), 10150),
        ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "expression"), "up"),
    ],
)
def test_a_misspelt_key_or_a_wrong_type_does_not_fit(
    kind: str, path: tuple[str | int, ...], value: Any
) -> None:
    manifest = of_kind(rendered(VALUES["operator-values"]), kind)
    broken = deepcopy(manifest)
    at: Any = broken
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    assert complaints(manifest) == []
    assert len(complaints(broken)) == 1


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"target": []}, "target"),
        ({"targets": [{"name": "PROD1"}]}, "host"),
        ({"auth": {"default": {"user": "x", "password": "y"}}}, "password"),
        ({"config": {"targets": []}}, "config"),
        ({"image": {"digest": "latest"}}, "digest"),
    ],
)
def test_wrong_values_are_named(values: dict[str, Any], problem: str) -> None:
    made = helm("template", "ase", CHART, "--kube-version=1.33.0", "--values=-", stdin=json.dumps(values))
    assert made.returncode != 0
    assert problem in made.stderr
