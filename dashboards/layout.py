"""From panels to a dashboard: the grid, variables, change marks and links, the same for every dashboard."""

from collections.abc import Sequence

from dashboards.panels import COLUMNS, Panel
from dashboards.queries import DATASOURCE, MACHINE, SELECTOR, Json

TAG = "ase-exporter"

# name, metric, its selector, colour: changes as annotations, out of metrics, so that viewers without rights see
# them, too.
CHANGES = (
    ("Changes of the server", "ase_change_timestamp_seconds", SELECTOR, "orange"),
    ("Changes of the machine", "dbhost_change_timestamp_seconds", MACHINE, "purple"),
)


def dashboard(
    *,
    uid: str,
    title: str,
    description: str,
    panels: Sequence[Panel],
    servers_with: str = "ase_up",
    one_server: bool = False,
    variables: Sequence[Json] = (),
    past: str = "1h",
) -> Json:
    """A dashboard with variables for data source, job, server and machine, and more of its own.

    servers_with: the metric that a server must have to be chosen. one_server: exactly one can be.
    past: the time range shown at first.
    """
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": [TAG],
        "editable": False,
        "schemaVersion": 37,
        "version": 1,
        "refresh": "30s",
        "time": {"from": f"now-{past}", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                    "current": {},
                },
                label_variable("job", "Job", f"label_values({servers_with}, job)"),
                label_variable(
                    "instance",
                    "Server",
                    f'label_values({servers_with}{{job=~"$job"}}, instance)',
                    many=not one_server,
                ),
                label_variable("host_job", "Job of machines", "label_values(dbhost_memory_bytes, job)"),
                label_variable(
                    "host", "Machine", 'label_values(dbhost_memory_bytes{job=~"$host_job"}, instance)'
                ),
                *variables,
            ]
        },
        "annotations": {"list": [_changes(*change) for change in CHANGES]},
        "links": [
            {
                "type": "dashboards",
                "title": "ASE dashboards",
                "tags": [TAG],
                "asDropdown": True,
                "keepTime": True,
                "includeVars": True,
                "icon": "external link",
                "targetBlank": False,
                "tooltip": "",
                "url": "",
            }
        ],
        "panels": on_grid(panels),
    }


def on_grid(panels: Sequence[Panel]) -> list[Json]:
    """Panels left to right, then down; each gets its id and its place."""
    placed: list[Json] = []
    x = y = row_height = 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        position = {"x": x, "y": y, "w": panel.width, "h": panel.height}
        placed.append({"id": number, "gridPos": position} | panel.json())
        x, row_height = x + panel.width, max(row_height, panel.height)
    return placed


def label_variable(name: str, label: str, query: str, *, many: bool = True) -> Json:
    """A variable whose values are those of a label. All is one short pattern, whatever the number of servers."""
    everything: Json = {
        "includeAll": True,
        "allValue": ".+",
        "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }
    single: Json = {"includeAll": False, "multi": False, "current": {}}
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
    } | (everything if many else single)


def choice(name: str, label: str, values: Sequence[str], first: str) -> Json:
    """A variable with fixed values."""
    return {
        "name": name,
        "label": label,
        "type": "custom",
        "query": ",".join(values),
        "options": [{"text": each, "value": each, "selected": each == first} for each in values],
        "current": {"text": first, "value": first},
        "includeAll": False,
        "multi": False,
    }


def _changes(name: str, metric: str, selector: str, colour: str) -> Json:
    """Annotations whose time is the series' value: Grafana wants milliseconds."""
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": True,
        "iconColor": colour,
        "expr": f"{metric}{{{selector}}} * 1000",
        "step": "60s",
        "titleFormat": "{{kind}} {{name}}",
        "textFormat": "{{from}} → {{to}}",
        "tagKeys": "kind,instance",
        "useValueForTime": True,
    }
