"""The dashboards, as a current Grafana migrates them, fit the types of its package @grafana/schema."""

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from dashboards import write
from dashboards.queries import Json

PACKAGES = ["@grafana/schema@13.2.3", "typescript@5.9.3", "ts-json-schema-generator@2.4.0"]
TYPES = "./node_modules/@grafana/schema/dist/types/raw"
SOURCE = (
    "".join(
        f"import * as {kind} from '{TYPES}/composable/{kind}/panelcfg/x/types.gen';\n"
        f"export type {kind}_options = {kind}.Options;\n"
        + (f"export type {kind}_custom = {kind}.FieldConfig;\n" if kind not in ("stat", "text") else "")
        for kind in ("timeseries", "stat", "table", "heatmap", "text")
    )
    + f"import * as dashboard from '{TYPES}/dashboard/x/types.gen';\nexport type board = dashboard.Dashboard;\n"
)
# What the types require and Grafana fills in: an empty `current` makes it choose the first value.
FILLED_IN = {("templating", "list", "current")}
# How version 38 of the model names the cells of tables (migrateTableDisplayModeToCellOptions).
CELLS = {
    "auto": {"type": "auto"},
    "color-text": {"type": "color-text"},
    "gradient-gauge": {"type": "gauge", "mode": "gradient"},
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """The types as JSON Schema, by name."""
    if not shutil.which("npm"):
        pytest.skip("no npm to get @grafana/schema with")
    directory = tmp_path_factory.mktemp("schema")
    (directory / "all.ts").write_text(SOURCE)
    (directory / "package.json").write_text("{}")
    options = {"module": "nodenext", "moduleResolution": "nodenext", "skipLibCheck": True, "strict": True}
    (directory / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["all.ts"]}))
    install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES]
    done = subprocess.run(install, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"@grafana/schema cannot be installed: {done.stderr[-300:]}")
    return {
        # Data sources add their own fields to annotations and queries.
        "board": generated(directory, "board", "--additional-properties"),
        **{name: generated(directory, name) for name in re.findall(r"type (\w+_\w+) =", SOURCE)},
    }


def generated(directory: Path, name: str, *options: str) -> Json:
    """The JSON Schema of one type."""
    command = ["npx", "--no-install", "ts-json-schema-generator", "--path=all.ts", f"--type={name}"]
    command += ["--no-type-check", "--tsconfig=tsconfig.json", *options]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def migrated(panel: Json) -> Json:
    """A panel as a current Grafana reads it from a file of version 37."""
    panel = copy.deepcopy(panel)
    if panel["type"] == "heatmap":
        del panel["options"]["tooltip"]["show"]
    if panel["type"] == "table":
        custom = panel["fieldConfig"]["defaults"]["custom"]
        custom["cellOptions"] = CELLS[custom.pop("displayMode")]
        for override in panel["fieldConfig"]["overrides"]:
            for each in override["properties"]:
                if each["id"] == "custom.displayMode":
                    each |= {"id": "custom.cellOptions", "value": CELLS[each["value"]]}
    return panel


def mistakes(schema: Json, value: Any) -> Iterator[str]:
    for error in jsonschema.Draft7Validator(schema).iter_errors(value):
        if tuple(part for part in error.absolute_path if isinstance(part, str)) not in FILLED_IN:
            yield f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"


@pytest.mark.parametrize("dashboard", write.DASHBOARDS, ids=lambda each: str(each["uid"]))
def test_every_dashboard_fits_the_types_of_a_current_grafana(
    schemas: dict[str, Json], dashboard: Json
) -> None:
    panels = [migrated(panel) for panel in dashboard["panels"]]
    found = list(mistakes(schemas["board"], dashboard | {"panels": panels}))
    for panel in panels:
        kind, custom = panel["type"], panel.get("fieldConfig", {}).get("defaults", {}).get("custom", {})
        if f"{kind}_options" in schemas:
            found += mistakes(schemas[f"{kind}_options"], panel["options"])
        if f"{kind}_custom" in schemas:
            found += mistakes(schemas[f"{kind}_custom"], custom)
        for override in panel.get("fieldConfig", {}).get("overrides", ()):
            for each in override["properties"]:
                if each["id"] == "custom.cellOptions":
                    found += mistakes(schemas["table_custom"], custom | {"cellOptions": each["value"]})
    assert not found


def test_the_types_reject_what_grafana_would_reject(schemas: dict[str, Json]) -> None:
    assert list(mistakes(schemas["stat_options"], {"textMode": "loud"}))
    assert list(mistakes(schemas["board"], write.DASHBOARDS[0] | {"schemaVersion": "newest"}))
