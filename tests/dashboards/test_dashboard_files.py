"""Dashboard JSON is up to date, valid for Grafana, and follows the project's rules for panels."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from dashboards import coverage, write
from dashboards.layout import CHANGES
from dashboards.queries import MACHINE, SELECTOR, Json

from ase_exporter.assets import load_yaml

SCHEMA = load_yaml(Path(__file__).with_name("dashboard.schema.yaml").read_text())

# Pixels at a width of 1280: grid column, padding of a title with info corner, character of a title.
COLUMN, PADDING, CHARACTER = 49, 40, 7.3

every_dashboard = pytest.mark.parametrize("dashboard", write.DASHBOARDS, ids=lambda each: str(each["uid"]))


def panels(dashboard: Json, *kinds: str) -> Iterator[Json]:
    for panel in dashboard["panels"]:
        if not kinds or panel["type"] in kinds:
            yield panel


def expressions(dashboard: Json) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def test_dashboard_files_are_up_to_date() -> None:
    assert write.stale() == [], "make generate"


def test_every_metric_is_on_a_dashboard_unless_it_is_a_fact_or_a_time() -> None:
    used = coverage.used_by_dashboards(write.DASHBOARDS).keys()
    unused = {name for name in coverage.metrics() if name not in used}
    assert {name for name in unused if not name.endswith(("_info", "_timestamp_seconds"))} == set()


@every_dashboard
def test_every_dashboard_fits_the_schema(dashboard: Json) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(dashboard)


@pytest.mark.parametrize("broken", [{"uid": ""}, {"panels": [{"type": "graph"}]}, {"schemaVersion": 99}])
def test_the_schema_rejects_what_grafana_would_reject(broken: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(write.DASHBOARDS[0] | broken)


@every_dashboard
def test_every_dashboard_shows_changes_from_metrics_alone(dashboard: Json) -> None:
    shown = dashboard["annotations"]["list"]
    assert {annotation["expr"].partition("{")[0] for annotation in shown} >= {
        metric for _, metric, *_ in CHANGES
    }
    for annotation in shown:
        assert annotation["useValueForTime"] and annotation["expr"].endswith(" * 1000")


@every_dashboard
def test_every_panel_explains_itself(dashboard: Json) -> None:
    for panel in panels(dashboard):
        title = panel["title"]
        max_length = (COLUMN * panel["gridPos"]["w"] - PADDING) / CHARACTER
        assert len(title) <= max_length, f"{title!r} is cut at 1280 wide, at {int(max_length)} characters"
    for panel in panels(dashboard, "timeseries", "stat", "table", "heatmap"):
        title, described = panel["title"], panel["description"]
        assert re.search(r"[Ss]ources?: |ase_\w+|perf stat|Source", described) and len(described) >= 40, (
            f"panel {title!r}: end the description with 'Source: TABLE.Column.'"
        )
        if panel["type"] == "heatmap":
            continue
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"], f"panel {title!r}: give it a `unit`"
        assert len(defaults["noValue"]) >= 8, f"panel {title!r}: say in `empty` why there may be no data"
        if panel["type"] == "stat":
            # Grafana shrinks a figure's text until it fits: a sentence would be unreadable.
            assert len(defaults["noValue"]) <= 17, (
                f"panel {title!r}: expected `empty` of 17 characters at most"
            )
            assert " Without data: " in described, (
                f"panel {title!r}: add 'Without data: …' to the description"
            )


# Of what a title calls good, in the unit of the graph.
SCALE = {"": 1, "%": 0.01, "ms": 0.001, "s": 1, "h": 3600, "GiB": 2**30}


@every_dashboard
def test_a_title_calls_good_what_is_under_the_threshold_and_shares_are_percentages(dashboard: Json) -> None:
    for panel in panels(dashboard, "timeseries", "stat"):
        defaults = panel["fieldConfig"]["defaults"]
        if panel["description"].startswith("Share of"):
            assert defaults["unit"] == "percentunit", panel["title"]
        said = re.search(r"\(good: (?:under|<) ([\d.]+) ?(%|ms|s|h|GiB|)(?=[ )])", panel["title"])
        if said and (limits := defaults["thresholds"]["steps"][1:]):
            assert limits[0]["value"] == pytest.approx(float(said[1]) * SCALE[said[2]]), panel["title"]
            assert said[2] != "%" or defaults["unit"] == "percentunit", panel["title"]


def test_the_fleet_is_sorted_worst_first() -> None:
    (fleet,) = (dashboard for dashboard in write.DASHBOARDS if dashboard["uid"] == "ase-fleet")
    (table,) = panels(fleet, "table")
    assert table["options"]["sortBy"] == [
        {"displayName": "Weight", "desc": True},
        {"displayName": "Spinning", "desc": True},
        {"displayName": "Alerts", "desc": True},
    ]


@every_dashboard
def test_graphs_have_limits_and_a_legend_with_last_and_max_the_worst_first(dashboard: Json) -> None:
    for panel in panels(dashboard, "timeseries"):
        legend, defaults = panel["options"]["legend"], panel["fieldConfig"]["defaults"]
        assert "min" in defaults or "max" in defaults, panel["title"]
        assert legend["showLegend"] and legend["displayMode"] == "table"
        assert legend["calcs"] == ["lastNotNull", "max"], panel["title"]
        assert all(target["legendFormat"] for target in panel["targets"])
        low_is_bad = re.search(r"\(good: (high|up\)|near 100)", panel["title"]) is not None
        assert legend["sortDesc"] != low_is_bad, panel["title"]
        assert not (low_is_bad and "topk(" in str(panel["targets"])), f"{panel['title']}: use bottomk"
        # Prefixes of SI turn 0.1 per second into 100 m/s; fills of many series hide the lines.
        assert not re.match("si:|pps", defaults["unit"]), f"{panel['title']}: use count:"
        assert defaults["custom"]["stacking"]["mode"] == "normal" or not defaults["custom"]["fillOpacity"]


@every_dashboard
def test_tables_name_columns_as_grafana_does_and_show_labels_as_text(dashboard: Json) -> None:
    for panel in panels(dashboard, "table"):
        *_, organized = panel["transformations"]
        titles = organized["options"]["renameByName"]
        several = [f"Value #{target['refId']}" for target in panel["targets"]]
        assert {name for name in titles if name.startswith("Value")} <= {*several, "Value"}, panel["title"]
        assert ("Value" in titles) <= (len(several) == 1) <= (several[0] not in titles), panel["title"]
        for override in panel["fieldConfig"]["overrides"]:
            units = [each["value"] for each in override["properties"] if each["id"] == "unit"]
            if override["matcher"]["options"] in {titles[name] for name in titles if "Value" not in name}:
                assert units == ["string"], f"{panel['title']}: a label that looks like a number is one"


@every_dashboard
def test_panels_fill_the_grid_and_do_not_overlap(dashboard: Json) -> None:
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    taken = Counter(
        (column, line)
        for panel in dashboard["panels"]
        for place in [panel["gridPos"]]
        for column in range(place["x"], place["x"] + place["w"])
        for line in range(place["y"], place["y"] + place["h"])
    )
    assert set(taken.values()) == {1}, "panels overlap"
    assert {column for column, _ in taken} == set(range(24))
    widths = Counter(line for _, line in taken)
    holes = {line: width for line, width in widths.items() if width != 24}
    assert not holes, f"grid rows that are not 24 columns wide: {holes}; set `width` and `height` of panels"


@every_dashboard
def test_everything_queries_the_chosen_servers(dashboard: Json) -> None:
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    assert {"datasource", "job", "instance"} <= variables.keys()
    assert variables["instance"]["multi"] or dashboard["uid"] in ("ase-change", "ase-details")
    assert variables["datasource"]["type"] == "datasource"


# Expressions that do not depend on the chosen servers.
WITHOUT_SERVER = {"(vector($change) > 0) * 1000", "min(ase_exporter_config_last_reload_successful)"}
WINDOWS = {"$__rate_interval", "1h", "${before}s", "${after}s"}


@every_dashboard
def test_expressions_select_servers_follow_the_interval_and_rate_counters(dashboard: Json) -> None:
    for expr in expressions(dashboard):
        for selector in re.findall(
            r"\b(?:ase[_:]|dbhost[_:]|ALERTS|scrape_)[a-zA-Z0-9_:]*(?:\{[^}]*\})?", expr
        ):
            chosen = SELECTOR in selector or MACHINE in selector or expr in WITHOUT_SERVER
            assert chosen, f"{expr}: expected {{$selector}} after {selector}"
        windows = set(re.findall(r"\[([^\]:]+)", expr))
        assert windows <= WINDOWS and "$__interval" not in expr, f"{expr}: expected [$__rate_interval]"
        for match in re.finditer(r"(\w+\()?(?:ase|dbhost)_\w+_total\{", expr):
            assert match[1] in ("rate(", "increase("), f"{expr}: expected the rate of a counter"


def overrides(dashboard: Json, *kinds: str) -> Iterator[Json]:
    for panel in panels(dashboard, *kinds):
        for override in panel.get("fieldConfig", {}).get("overrides", []):
            yield from override["properties"]


@every_dashboard
def test_a_click_on_a_server_cache_spinlock_or_database_leads_to_a_dashboard_for_the_server_of_its_row(
    dashboard: Json,
) -> None:
    boards = {each["uid"]: each for each in write.DASHBOARDS}
    for panel in panels(dashboard, "table"):
        *_, organized = panel["transformations"]
        titles = organized["options"]["renameByName"]
        machines = titles.get("instance") == "Machine"
        linked = {}
        for override in panel["fieldConfig"]["overrides"]:
            for each in (each for each in override["properties"] if each["id"] == "links"):
                (linked[override["matcher"]["options"]],) = (to["url"] for to in each["value"])
        wanted = {"instance"} if machines else {"instance", "cache", "spinlock", "database"}
        assert linked.keys() == {titles[label] for label in titles.keys() & wanted}
        for url in linked.values():
            (uid,) = re.findall(r"^/d/([\w-]+)\?\$\{__url_time_range\}&", url)
            passed, given = re.findall(r"\$\{(\w+):queryparam\}", url), re.findall(r"var-(\w+)=", url)
            assert {*passed, *given} == {
                "datasource",
                *(("host_job", "host") if machines else ("job", "instance")),
            }
            for board, names in ((dashboard, passed), (boards[uid], [*passed, *given])):
                assert {*names} <= {variable["name"] for variable in board["templating"]["list"]}
            assert {*re.findall(r"fields\.(\w+)\}", url)} <= {*titles.values()}


# Supported by Grafana 9.3 and the current version.
TRANSFORMATIONS_OF_BOTH = {"merge", "filterFieldsByName", "organize"}
CELLS_OF_BOTH = {"auto", "color-text", "gradient-gauge"}


@every_dashboard
def test_only_features_of_both_grafana_9_and_current_are_used(dashboard: Json) -> None:
    used = {each["id"] for panel in dashboard["panels"] for each in panel.get("transformations", [])}
    assert used <= TRANSFORMATIONS_OF_BOTH
    assert not any("angular" in panel or "repeat" in panel for panel in dashboard["panels"])


@every_dashboard
def test_a_current_grafana_migrates_the_model_and_the_cells_of_tables(dashboard: Json) -> None:
    """Versions 39 to 43 of the model: refresh becomes a string, time_options go, what is hidden from a graph is hidden
    from its tooltip, the transformations timeSeriesTable and formatTime are replaced (see above). From version 38 the
    cell type is `cellOptions`: Grafana migrates `displayMode` if the file is of version 37 and the panel's defaults
    have `custom`."""
    assert not {"custom.hideFrom", "custom.cellOptions"} & {each["id"] for each in overrides(dashboard)}
    modes = {
        panel["fieldConfig"]["defaults"]["custom"]["displayMode"] for panel in panels(dashboard, "table")
    }
    modes |= {each["value"] for each in overrides(dashboard, "table") if each["id"] == "custom.displayMode"}
    assert modes <= CELLS_OF_BOTH
