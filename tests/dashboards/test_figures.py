"""Single figures: their text and colour agree with those beside them, and none is shown without data."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from dashboards import write
from dashboards.panels import NEUTRAL
from dashboards.queries import Json
from tests.dashboards.variables import substituted

ANY = dict.fromkeys(("job", "instance", "host_job", "host"), ".+")
SERVER = 'job="ase",instance="prod1"'


def panel(uid: str, title: str) -> Json:
    (dashboard,) = (each for each in write.DASHBOARDS if each["uid"] == uid)
    (found,) = (each for each in dashboard["panels"] if each["title"].startswith(title))
    return dict(found)


def holds(
    tmp_path: Path, expr: str | list[str], series: dict[str, float], expected: list[dict[str, Any]]
) -> None:
    """Assert that each expression gives these samples where these series have these values."""
    expressions = [expr] if isinstance(expr, str) else expr
    test = {
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": name, "values": f"{value}x4"} for name, value in series.items()],
                "promql_expr_test": [
                    {"expr": substituted(each, ANY), "eval_time": "1m", "exp_samples": expected}
                    for each in expressions
                ],
            }
        ],
    }
    path = tmp_path / "figure.test.yaml"
    path.write_text(yaml.safe_dump(test))
    done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("up", "busy", "spinning", "contention", "word", "colour"),
    [
        (1, 0.5, 0.01, 0.02, "working", "green"),
        (1, 0.97, 0.01, 0.02, "saturated", "orange"),
        (1, 0.5, 0.086, 0.2, "contended", "orange"),
        # Not a red "spinning" beside a green 8.6 %.
        (1, 0.5, 0.086, 0.6, "contended", "red"),
        (1, 0.9, 0.2, 0.2, "spinning", "orange"),
        (1, 0.9, 0.2, 0.6, "contended", "red"),
        (1, 0.9, 0.5, 0.6, "spinning", "red"),
        (0, 0.9, 0.5, 0.6, "down", "red"),
    ],
)
def test_the_state_of_a_server_agrees_with_the_figures_beside_it(
    tmp_path: Path, up: int, busy: float, spinning: float, contention: float, word: str, colour: str
) -> None:
    state = panel("ase-server", "State")
    (names,) = (
        each["options"] for each in state["fieldConfig"]["defaults"]["mappings"] if each["type"] == "value"
    )
    (code,) = (code for code, shown in names.items() if (shown["text"], shown["color"]) == (word, colour))
    series = {
        f"ase_up{{{SERVER}}}": up,
        f"ase:cpu_busy:ratio_rate1m{{{SERVER}}}": busy,
        f"ase:cpu_spinning:ratio_rate1m{{{SERVER}}}": spinning,
        f'ase:spinlock_hottest_contention:ratio_rate1m{{{SERVER},spinlock="a"}}': contention,
        f'ase:spinlock_top_spins:rate1m{{{SERVER},spinlock="a"}}': 1e6,
    }
    holds(tmp_path, state["targets"][0]["expr"], series, [{"labels": "{}", "value": float(code)}])


FIGURES = [
    (dashboard["uid"], each["title"], target["expr"])
    for dashboard in write.DASHBOARDS
    for each in dashboard["panels"]
    if each["type"] == "stat" and each["options"]["textMode"] != "name"
    for target in each["targets"]
    # These depend on variables that have no value without a change.
    if dashboard["uid"] != "ase-change"
]


def test_no_figure_is_shown_without_data(tmp_path: Path) -> None:
    expressions = [substituted(expr, {"__rate_interval": "1m"}) for _, _, expr in FIGURES]
    holds(tmp_path, expressions, {}, [])


NAMES = [
    (dashboard["uid"], each["title"])
    for dashboard in write.DASHBOARDS
    for each in dashboard["panels"]
    if each["type"] == "stat" and each["options"]["textMode"] == "name"
]


@pytest.mark.parametrize(("uid", "title"), NAMES)
def test_a_panel_of_names_says_that_there_are_no_data(tmp_path: Path, uid: str, title: str) -> None:
    # Grafana shows the text for missing values only where it shows values.
    of_names = panel(uid, title)
    blank = of_names["fieldConfig"]["defaults"]["noValue"]
    (target,) = of_names["targets"]
    label = target["legendFormat"].strip("{}")
    holds(tmp_path, target["expr"], {}, [{"labels": f'{{{label}="{blank}"}}', "value": 1}])
    colours = {
        each["matcher"]["options"]: each["properties"][0]["value"]["fixedColor"]
        for each in of_names["fieldConfig"]["overrides"]
    }
    assert colours[blank] == NEUTRAL
