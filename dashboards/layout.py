"""Builds a dashboard from panels: grid, variables, change annotations and links."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from dashboards.panels import COLUMNS, Panel, Row
from dashboards.queries import DATASOURCE, MACHINE, SELECTOR, Json

TAG = "ase-exporter"

# name, metric, selector, colour. Annotations come from metrics, so that viewers need no annotation permission.
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
    """Return a dashboard with variables for data source, job, server and machine, and `variables`.

    servers_with: metric that the selectable servers have; one_server: select exactly one; past: initial time range.
    """
    placed = place_on_grid(panels)
    return {
        # What grafana.com and the import of a file want to know. Inputs: none, as the data source is a variable.
        "__inputs": [],
        "__elements": {},
        "__requires": [
            {"type": "grafana", "id": "grafana", "name": "Grafana", "version": "9.3.0"},
            {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
            *(
                {"type": "panel", "id": kind, "name": kind, "version": ""}
                for kind in sorted({panel["type"] for panel in placed} - {"row"})
            ),
        ],
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
                    multi=not one_server,
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
        "panels": placed,
    }


def place_on_grid(panels: Sequence[Panel]) -> list[Json]:
    """Place panels left to right, then down; each gets an id and a position."""
    placed: list[Json] = []
    x = y = row_height = 0
    for number, (panel, width) in enumerate(zip(panels, _widths(panels), strict=True), start=1):
        if x + width > COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        position = {"x": x, "y": y, "w": width, "h": panel.height}
        placed.append({"id": number, "gridPos": position} | panel.json())
        x, row_height = x + width, max(row_height, panel.height)
    return placed


def _widths(panels: Sequence[Panel]) -> Iterator[int]:
    """Widths of panels. Those without one that follow each other are spread over lines as evenly as possible."""
    across = 2
    for shares, neighbours in groupby(panels, key=lambda panel: not panel.width):
        some = list(neighbours)
        if shares:
            lines = -(-len(some) // across)
            for line in range(lines):
                here = len(some[line::lines])
                yield from [COLUMNS // here] * here
        for panel in some if not shares else ():
            across = panel.across if isinstance(panel, Row) else across
            yield panel.width


def label_variable(name: str, label: str, query: str, *, multi: bool = True) -> Json:
    """Return a variable with the values of a label. `All` is one short pattern for any number of servers."""
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
    } | (everything if multi else single)


def choice(name: str, label: str, values: Mapping[str, int], first: str) -> Json:
    """Return a variable with fixed numbers by the text to show."""
    return {
        "name": name,
        "label": label,
        "type": "custom",
        "query": ",".join(f"{text} : {value}" for text, value in values.items()),
        "options": [
            {"text": text, "value": str(value), "selected": text == first} for text, value in values.items()
        ],
        "current": {"text": first, "value": str(values[first])},
        "includeAll": False,
        "multi": False,
    }


def _changes(name: str, metric: str, selector: str, colour: str) -> Json:
    """Return annotations whose time is the value of the series, in ms as Grafana expects."""
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
