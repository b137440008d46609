"""Writes alerts/rules/*.alerts.yaml from definitions/*.yaml and the one file of thresholds, parameters.yaml.

All rules are written once more as one object for the Prometheus operator.

A definition names its alerts as Prometheus does; `<<group.name>>` takes a parameter. Links to dashboard and
runbook are filled in here, the same way for every alert, so that none can be forgotten.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
DEFINITIONS = HERE / "definitions"
RULES = HERE / "rules"
PARAMETERS = HERE / "parameters.yaml"
PROMETHEUS_RULE = HERE.parent / "deploy" / "kubernetes" / "monitoring" / "prometheusrule.yaml"

PLACEHOLDER = re.compile(r"<<([a-z0-9_.]+)>>")
HEADER = (
    "# Written by alerts/write.py from alerts/definitions/{name} and alerts/parameters.yaml: edit those.\n"
)
PROMETHEUS_RULE_HEADER = "# Written by alerts/write.py from alerts/rules (make alerts): edit those.\n"


class DefinitionError(Exception):
    """A definition or a parameter is not as it must be: one line that names it."""


def parameters(own: Path | None = None) -> dict[str, str]:
    """Parameters by dotted name, as the text that goes into a rule.

    own: a file in the form of parameters.yaml that names what differs. Raises DefinitionError.
    """
    shipped = _read(PARAMETERS)
    changed = _read(own) if own else {}
    if unknown := sorted(changed.keys() - shipped.keys()):
        raise DefinitionError(f"{own}: {unknown[0]}: no such parameter; parameters.yaml has them all")
    return shipped | changed


def _read(path: Path) -> dict[str, str]:
    content = yaml.safe_load(path.read_text()) or {}
    try:
        return {
            f"{group}.{name}": str(value)
            for group, values in content.items()
            for name, value in values.items()
        }
    except AttributeError:
        raise DefinitionError(f"{path}: expected groups of parameters, as in parameters.yaml") from None


def placeholders(definition: Path) -> set[str]:
    """The parameters that a definition uses."""
    return set(PLACEHOLDER.findall(definition.read_text()))


def rule_file(definition: Path, values: Mapping[str, str]) -> str:
    """The Prometheus rule file of one definition, as text."""

    def value(match: re.Match[str]) -> str:
        try:
            return values[match[1]]
        except KeyError:
            raise DefinitionError(f"{definition.name}: no parameter {match[1]} in parameters.yaml") from None

    content = yaml.safe_load(PLACEHOLDER.sub(value, definition.read_text()))
    for group in content["groups"]:
        dashboard = group.pop("dashboard", None)
        group["rules"] = [_rule(each, dashboard, values) for each in group["rules"]]
    return HEADER.format(name=definition.name) + yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150
    )


def rule_files(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(file name, text) of every rule file that the definitions make."""
    for definition in sorted(DEFINITIONS.glob("*.yaml")):
        yield f"{definition.stem}.alerts.yaml", rule_file(definition, values)


def prometheus_rule(directory: Path = RULES) -> str:
    """The PrometheusRule with the groups of all rule files, in the order of the files' names, as text."""
    files = [yaml.safe_load(path.read_text()) for path in sorted(directory.glob("*.yaml"))]
    content = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "ase-exporter"},
        "spec": {"groups": [group for each in files for group in each["groups"]]},
    }
    return PROMETHEUS_RULE_HEADER + yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150
    )


def _rule(rule: dict[str, Any], dashboard: str, values: Mapping[str, str]) -> dict[str, Any]:
    expr = rule["expr"].strip()
    if "record" in rule:
        return rule | {"expr": expr}
    grafana, runbooks = values["links.grafana"], values["links.runbooks"]
    return {
        "alert": rule["alert"],
        "expr": expr,
        **{optional: rule[optional] for optional in ("for", "keep_firing_for") if optional in rule},
        "labels": {"severity": rule["severity"]},
        "annotations": {
            "summary": rule["summary"].strip(),
            "description": rule["description"].strip(),
            "dashboard_url": f"{grafana}/d/{dashboard}?var-instance={{{{ $labels.instance }}}}",
            "runbook_url": f"{runbooks}/{rule['alert']}.md",
        },
    }


class _Dumper(yaml.SafeDumper):
    """Block style for text of several lines, and list items indented as yamllint wants them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _files(own: Path | None, directory: Path) -> Iterator[tuple[Path, str]]:
    """All files to be written; the last one is made of the others, as they are by then."""
    for name, text in rule_files(parameters(own)):
        yield directory / name, text
    if directory == RULES:
        yield PROMETHEUS_RULE, prometheus_rule()


def main() -> None:
    """Write the rule files; with --check, only say whether they are up to date (exit code 1 if not)."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--parameters", type=Path, help="a file with your own, where they differ")
    arguments.add_argument("--to", type=Path, default=RULES, help="directory to write the rule files into")
    arguments.add_argument("--check", action="store_true", help="write nothing; exit code 1 if any is stale")
    options = arguments.parse_args()
    try:
        stale = False
        for path, text in _files(options.parameters, options.to):
            if options.check:
                if not path.exists() or path.read_text() != text:
                    print(f"{path} is not up to date: make alerts", file=sys.stderr)
                    stale = True
            else:
                path.write_text(text)
        sys.exit(stale)
    except (DefinitionError, OSError, yaml.YAMLError) as error:
        print(f"alerts.write: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
