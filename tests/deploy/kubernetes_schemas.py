"""Objects held against the schemas of Kubernetes and of the Prometheus operator.

The schemas are those that the two projects publish as Go modules: kubernetes' OpenAPI document, and the operator's
custom resource definitions. The API server refuses an unknown key or a wrong type by them, and so does this.
"""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

KUBERNETES = "k8s.io/kubernetes@v1.33.1"
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"


class Loader(yaml.CSafeLoader):
    """YAML without one oddity of its version 1.1, which the operator's file of comparisons trips over."""


Loader.add_constructor("tag:yaml.org,2002:value", Loader.construct_scalar)  # type: ignore[type-var]


@cache
def module(name: str) -> Path:
    """The directory of a Go module, fetched if it is not here yet."""
    fetched = subprocess.run(["go", "mod", "download", "-json", name], capture_output=True, text=True)
    if fetched.returncode:
        pytest.skip(f"{name} cannot be fetched, and its schemas were not asked: {fetched.stdout[:300]}")
    return Path(json.loads(fetched.stdout)["Dir"])


def strict(schema: Any) -> Any:
    """A published schema as JSON Schema that knows no other keys, with the API server's own two leniencies."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if made.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    if isinstance(made.get("properties"), dict) and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


@cache
def definitions() -> dict[str, Any]:
    """Kubernetes' own, by their long names. A quantity may be a bare number."""
    document = module(KUBERNETES) / "api" / "openapi-spec" / "swagger.json"
    found: dict[str, Any] = strict(json.loads(document.read_text())["definitions"])
    found["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] = ["string", "number"]
    return found


@cache
def schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """apiVersion and kind -> schema."""
    made: dict[tuple[str, str], dict[str, Any]] = {}
    for name, definition in definitions().items():
        for each in definition.get("x-kubernetes-group-version-kind", []):
            version = f"{each['group']}/{each['version']}".removeprefix("/")
            made[version, each["kind"]] = {"$ref": f"#/definitions/{name}"}
    metadata = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    for path in (module(OPERATOR) / "example" / "prometheus-operator-crd").glob("*.yaml"):
        resource = yaml.load(path.read_text(), Loader=Loader)["spec"]
        for version in resource["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = metadata
            made[f"{resource['group']}/{version['name']}", resource["names"]["kind"]] = schema
    return made


def complaints(manifest: dict[str, Any]) -> list[str]:
    """What is wrong with an object, a line each."""
    schema = schemas()[manifest["apiVersion"], manifest["kind"]]
    checker = jsonschema.Draft7Validator(schema | {"definitions": definitions()})
    return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(manifest)]
