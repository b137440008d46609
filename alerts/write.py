"""Writes the alerting rules, the PrometheusRule for Kubernetes and the table of alerts in README.md.

Rules come from definitions/*.yaml and from the thresholds in parameters.yaml. A definition names its alerts as
Prometheus does, and says in `when` what the table of README.md shows; `<<group.name>>` inserts a parameter. Links to
dashboard (that of the group, or of the alert itself) and runbook are filled in here, so that none is forgotten.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from alerts.parameters import DefinitionError, parameters

from ase_exporter.rules.intervals import adapted, dump

HERE = Path(__file__).parent
DEFINITIONS = HERE / "definitions"
RULES = HERE / "rules"
RULES_60S = HERE / "rules-60s"
README = HERE / "README.md"
PROMETHEUS_RULE = HERE.parent / "deploy" / "kubernetes" / "monitoring" / "prometheusrule.yaml"

PLACEHOLDER = re.compile(r"<<([a-z0-9_.]+)>>")
TABLE = re.compile(r"(?<=<!-- alerts -->\n).*(?=<!-- end of alerts -->\n)", re.DOTALL)
HEADER = (
    "# Written by alerts/write.py from alerts/definitions/{name} and alerts/parameters.yaml: edit those.\n"
)
PROMETHEUS_RULE_HEADER = "# Written by alerts/write.py from alerts/rules (make alerts): edit those.\n"


def placeholders(definition: Path) -> set[str]:
    """Return the names of the parameters that a definition uses."""
    return set(PLACEHOLDER.findall(definition.read_text()))


def rule_file(definition: Path, values: Mapping[str, str]) -> str:
    """Return the Prometheus rule file of one definition, as text. Raises DefinitionError."""

    def value(match: re.Match[str]) -> str:
        try:
            return values[match[1]]
        except KeyError:
            raise DefinitionError(f"{definition.name}: no parameter {match[1]} in parameters.yaml") from None

    content = yaml.safe_load(PLACEHOLDER.sub(value, definition.read_text()))
    for group in content["groups"]:
        dashboard = group.pop("dashboard", None)
        group["rules"] = [_rule(each, dashboard, values) for each in group["rules"]]
    return HEADER.format(name=definition.name) + dump(content)


def rule_files(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of the rule file of each definition."""
    for definition in sorted(DEFINITIONS.glob("*.yaml")):
        yield f"{definition.stem}.alerts.yaml", rule_file(definition, values)


def prometheus_rule(directory: Path = RULES) -> str:
    """Return the PrometheusRule with the groups of all rule files, sorted by file name, as text."""
    files = [yaml.safe_load(path.read_text()) for path in sorted(directory.glob("*.yaml"))]
    content = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "ase-exporter"},
        "spec": {"groups": [group for each in files for group in each["groups"]]},
    }
    return PROMETHEUS_RULE_HEADER + dump(content)


def with_alert_table(readme: str) -> str:
    """Return the text of README.md with its table of alerts replaced. Raises DefinitionError without its marks."""
    severities: dict[str, list[str]] = {}
    conditions: dict[str, str] = {}
    for definition in sorted(DEFINITIONS.glob("*.yaml")):
        # A placeholder may stand where YAML allows only a plain word, so it is replaced before loading.
        content = yaml.safe_load(PLACEHOLDER.sub("0", definition.read_text()))
        for rule in (rule for group in content["groups"] for rule in group["rules"] if "alert" in rule):
            severities.setdefault(rule["alert"], []).append(rule["severity"])
            conditions.setdefault(rule["alert"], rule.get("when", ""))
    if missing := [name for name, condition in conditions.items() if not condition]:
        raise DefinitionError(f"{missing[0]}: its first rule has no `when`")
    rows = [
        f"| [{name}](runbooks/{name}.md) | {', '.join(severities[name])} | {condition} |"
        for name, condition in conditions.items()
    ]
    table = "\n".join(["", "| alert | severity | fires when |", "| --- | --- | --- |", *rows, "", ""])
    text, found = TABLE.subn(lambda _: table, readme)
    if not found:
        raise DefinitionError("README.md: no marks for the table of alerts")
    return text


def _rule(rule: dict[str, Any], dashboard: str, values: Mapping[str, str]) -> dict[str, Any]:
    expr = rule["expr"].strip()
    if "record" in rule:
        return rule | {"expr": expr}
    grafana, runbooks = values["links.grafana"], values["links.runbooks"]
    # Alerts of machines open the dashboard with the machine chosen.
    variable = "var-host" if rule["alert"].startswith("DbHost") else "var-instance"
    dashboard = rule.get("dashboard", dashboard)
    return {
        "alert": rule["alert"],
        "expr": expr,
        **{optional: rule[optional] for optional in ("for", "keep_firing_for") if optional in rule},
        "labels": {"severity": rule["severity"]},
        "annotations": {
            "summary": rule["summary"].strip(),
            "description": rule["description"].strip(),
            "dashboard_url": f"{grafana}/d/{dashboard}?{variable}={{{{ $labels.instance }}}}",
            "runbook_url": f"{runbooks}/{rule['alert']}.md",
        },
    }


def _files(own: Path | None, directory: Path) -> Iterator[tuple[Path, str]]:
    """Yield (path, text) of every file to write. The PrometheusRule reads the rule files written before it."""
    for name, text in rule_files(parameters(own)):
        yield directory / name, text
    if directory == RULES:
        yield README, with_alert_table(README.read_text())
        yield PROMETHEUS_RULE, prometheus_rule()
        shipped = {path.name: path.read_text() for path in sorted(directory.glob("*.yaml"))}
        for name, text in shipped.items():
            yield RULES_60S / name, adapted(text, 60.0)
    else:
        for path in sorted(RULES.glob("*.rules.yaml")):
            yield directory / path.name, path.read_text()


def _stale(path: Path, text: str) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    print(f"{path} is not up to date: make alerts", file=sys.stderr)
    return True


def main() -> None:
    """Write all files; with --check write none and exit with 1 if any is out of date."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "--parameters", type=Path, help="a YAML file with your own values, where they differ"
    )
    arguments.add_argument(
        "--to", type=Path, default=RULES, help="directory for all alerting and recording rules"
    )
    arguments.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if a file is stale"
    )
    options = arguments.parse_args()
    try:
        files = _files(options.parameters, options.to)
        if options.check:
            stale = [path for path, text in files if _stale(path, text)]
            sys.exit(1 if stale else 0)
        for path, text in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except (DefinitionError, OSError) as error:
        print(f"alerts.write: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
