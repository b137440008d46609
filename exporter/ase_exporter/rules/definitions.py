"""Writes rule files from definitions and parameters.

A definition names its alerts as Prometheus does, and says in `when` what the table of alerts shows and in `about` which
label names its subject, if not `instance`; `<<group.name>>` inserts a parameter. Links to dashboard (that of the
group, or of the alert itself) and runbook are filled in here, so that none is forgotten. This makes every rule
proof against lost scrapes and against several exporters of one server:

- An alert that names a series takes its last sample within `exporter.gap`, and of ase_up whether the server answered
  within it, unless the definition gives a window itself or says `exact: true`.
- A limit `<<~group.name>>` has hysteresis: the alert fires over it, and stays until the value is clearly below it
  (`fleet.left`). `stays` says otherwise when it stays. A recorded state does the same.
- on (...) and by (...) keep the labels of `fleet.labels`, which tell replicas, clusters and datacentres apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ase_exporter import assets
from ase_exporter.rules.intervals import dump
from ase_exporter.rules.limits import Limit, Thresholds, scopes, within
from ase_exporter.rules.parameters import DEFINITIONS, PLACEHOLDER, parameters, ratios

# A limit with hysteresis, after what compares with it.
_LIMIT = re.compile(r"(?P<compares>[<>]=?)\s*~(?P<name>[a-z0-9_.]+)~")
# A string, the labels after on, by, ignoring or without, or a series with what makes it more than an instant.
_PARTS = re.compile(
    r'"[^"]*"'
    r"|\b(?:on|by|ignoring|without|group_left|group_right) ?\([^)]*\)"
    r"|(?P<series>\b(?:ase|dbhost)[_:][\w:]+(?:\{[^}]*\})?)(?P<more>\s*\[|\s+offset (?P<offset>\w+))?"
)
_KEPT = re.compile(r"\b(on|by) \(([^)]+)\)")
HEADER = (
    "# Written by alerts/write.py from alerts/definitions/{name} and alerts/parameters.yaml: edit those.\n"
)


def rule_files(values: Mapping[str, str], limits: Sequence[Limit] = ()) -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of the rule file of each definition."""
    for definition in sorted(DEFINITIONS.glob("*.yaml")):
        yield f"{definition.stem}.alerts.yaml", rule_file(definition, values, limits)


def own_rule_files(own: Thresholds) -> dict[str, str]:
    """The rule files of all definitions by name, with thresholds of one's own; a comment names them."""
    limits = [{**limit.where, **limit.values} for limit in own.limits]
    named = [*({name: value} for name, value in own.values.items()), *limits]
    listed = ", ".join(" ".join(f"{name}={value}" for name, value in each.items()) for each in named)
    heading = f"# With {listed}\n"
    return {name: heading + text for name, text in rule_files({**parameters(), **own.values}, own.limits)}


def rule_file(definition: Path, values: Mapping[str, str], limits: Sequence[Limit] = ()) -> str:
    """Return the Prometheus rule file of one definition, as text."""
    content = assets.load_yaml(definition.read_text(encoding="utf-8"))
    for group in content["groups"]:
        dashboard = group.pop("dashboard", None)
        group["rules"] = [_rule(each, dashboard, values, limits) for each in group["rules"]]
    return HEADER.format(name=definition.name) + dump(content)


def _filled(part: Any, values: Mapping[str, str]) -> Any:
    """It with parameters in place of their names; a limit with hysteresis keeps its name until later."""

    def value(match: re.Match[str]) -> str:
        return f"~{match[1]}~" if match[0].startswith("<<~") else values[match[1]]

    if isinstance(part, dict):
        return {key: _filled(each, values) for key, each in part.items()}
    return PLACEHOLDER.sub(value, part) if isinstance(part, str) else part


def limited(rule: Mapping[str, Any], values: Mapping[str, str], limits: Sequence[Limit]) -> str:
    """The expression of a rule: where limits change a parameter of it, once for each part of the series."""
    used = set(PLACEHOLDER.findall(rule["expr"] + rule.get("stays", "")))
    parts = [
        within(with_hysteresis(_filled(rule, there := {**values, **scope.values}), there), scope)
        for scope in scopes(limits, used)
    ]
    return parts[0] if len(parts) == 1 else "\nor\n".join(f"(\n{part}\n)" for part in parts)


def with_hysteresis(rule: Mapping[str, Any], values: Mapping[str, str]) -> str:
    """The expression of a rule: what begins a state, or lets it stay while it is there already.

    What it says of itself, ALERTS or its own record, is as it was when the rules were last evaluated. vmalert's
    ALERTS has a label alertgroup.
    """
    enters = _LIMIT.sub(lambda match: f"{match['compares']} {values[match['name']]}", rule["expr"].strip())
    stays = rule.get("stays", rule["expr"]).strip()
    if not _LIMIT.search(stays):
        return enters
    stays = _LIMIT.sub(lambda match: f"{match['compares']} {_left(match, values):.6g}", stays)
    if "record" in rule:
        return f"({enters})\nor\n({stays})\nand\nlast_over_time({rule['record']}[{values['exporter.gap']}])"
    fires = f'ALERTS{{alertname="{rule["alert"]}", alertstate="firing", severity="{rule["severity"]}"}}'
    return f"({enters})\nor\n({stays})\nand ignoring (alertgroup, alertname, alertstate, severity)\n{fires}"


def _left(match: re.Match[str], values: Mapping[str, str]) -> float:
    """The value at which a state is left that was entered at a limit."""
    limit, left = float(values[match["name"]]), float(values["fleet.left"])
    if match["compares"].startswith("<"):
        return limit / left
    most_free = 1 - float(values["fleet.left_free"]) * (1 - limit)
    return max(limit * left, most_free) if match["name"] in ratios() else limit * left


def tolerant(expr: str, gap: str) -> str:
    """An expression whose series are those of the last `gap`, so that a lost scrape does not end a state."""

    def part(match: re.Match[str]) -> str:
        series = match["series"]
        if not series or (match["more"] and not match["offset"]):
            return match[0]
        function = "max_over_time" if series == "ase_up" else "last_over_time"
        moved = f" offset {match['offset']}" if match["offset"] else ""
        return f"{function}({series}[{gap}]{moved})"

    return _PARTS.sub(part, expr)


def _rule(
    rule: dict[str, Any], dashboard: str, values: Mapping[str, str], limits: Sequence[Limit]
) -> dict[str, Any]:
    kept = values["fleet.labels"].replace(",", ", ")
    expr = _KEPT.sub(rf"\1 (\2, {kept})", limited(rule, values, limits))
    rule = _filled(rule, values)
    if "record" in rule:
        return {
            "record": rule["record"],
            "expr": expr,
            **{key: rule[key] for key in ("labels",) if key in rule},
        }
    if not rule.get("exact"):
        expr = tolerant(expr, values["exporter.gap"])
    links: dict[str, str] = {}
    about = rule.get("about", "instance")
    # Alerts of machines open the dashboard with the machine chosen.
    variable = "var-host" if rule["alert"].startswith("DbHost") else f"var-{about}"
    dashboard = rule.get("dashboard", dashboard)
    if grafana := values["links.grafana"]:
        links["dashboard_url"] = f"{grafana}/d/{dashboard}?{variable}={{{{ $labels.{about} }}}}"
    if runbooks := values["links.runbooks"]:
        links["runbook_url"] = f"{runbooks}/{rule['alert']}.md"
    return {
        "alert": rule["alert"],
        "expr": expr,
        **{optional: rule[optional] for optional in ("for", "keep_firing_for") if optional in rule},
        "labels": {"severity": rule["severity"]},
        "annotations": {
            "summary": rule["summary"].strip(),
            "description": rule["description"].strip(),
            **links,
        },
    }
