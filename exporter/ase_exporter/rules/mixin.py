"""The rules and dashboards as a Jsonnet mixin: JSON files, and one file that adds them to the mixin's fields."""

import json
from collections.abc import Mapping
from typing import Any

from ase_exporter import assets

_HEADER = (
    "// Rules and dashboards of ase-exporter, for jsonnet-bundler, kube-prometheus and Grafana's tools.\n"
)


def mixin_files(rules: Mapping[str, str]) -> dict[str, str]:
    """The mixin's files by path, from the text of rule files by name."""
    groups = [group for name in sorted(rules) for group in assets.load_yaml(rules[name])["groups"]]
    alerting = [group for group in groups if any("alert" in rule for rule in group["rules"])]
    recording = [group for group in groups if group not in alerting]
    dashboards = {
        f"dashboards/{path.name}": path.read_text(encoding="utf-8")
        for path in assets.directory("dashboards").glob("*.json")
    }
    return dashboards | {
        "alerts.json": _json(alerting),
        "rules.json": _json(recording),
        "mixin.libsonnet": _mixin(sorted(dashboards)),
    }


def _mixin(dashboards: list[str]) -> str:
    lines = [f"    '{path.partition('/')[2]}': import '{path}'," for path in dashboards]
    return (
        f"{_HEADER}{{\n"
        "  prometheusRules+:: { groups+: import 'rules.json' },\n"
        "  prometheusAlerts+:: { groups+: import 'alerts.json' },\n"
        "  grafanaDashboards+:: {\n" + "\n".join(lines) + "\n  },\n}\n"
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
