"""Single figures: their text and colour agree with those beside them, and none is shown without data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from dashboards import write
from dashboards.panels import NEUTRAL
from dashboards.queries import Json
from tests.dashboards.variables import substituted
from tests.e2e.evaluation import EvaluatedSample, evaluate_series

from ase_exporter.catalogue.wait_parts import IDLE, wait_parts

ANY = dict.fromkeys(("job", "instance", "host_job", "host"), ".+")


def panel(uid: str, title: str) -> Json:
    (dashboard,) = (each for each in write.DASHBOARDS if each["uid"] == uid)
    (found,) = (each for each in dashboard["panels"] if each["title"].startswith(title))
    return dict(found)


def holds(
    tmp_path: Path,
    expr: str | list[str],
    series: Mapping[str, float | str],
    expected: Sequence[EvaluatedSample],
) -> None:
    """Assert that each expression gives these samples where these series have these values."""
    expressions = [expr] if isinstance(expr, str) else expr
    given = [{"series": name, "values": f"{value}x4"} for name, value in series.items()]
    queries = [(substituted(each, ANY), 60) for each in expressions]
    for found in evaluate_series(given, 15, tmp_path, queries, (), 15).values():
        assert sorted(found, key=labels) == sorted(expected, key=labels)


def labels(sample: EvaluatedSample) -> list[tuple[str, str]]:
    return sorted(sample.labels.items())


@pytest.mark.parametrize(
    ("ranks", "word", "colour"),
    [
        # Ranks as the exporter gives them: -3 idle, -2 works, -1 not known, 0 to 1 a share, from 1 on stopped.
        ({"IDLE": -3.0}, "IDLE", "green"),
        ({"WORKS": -2.0, "IDLE": -3.0}, "WORKS", "green"),
        ({"NOT KNOWN": -1.0, "WORKS": -2.0}, "NOT KNOWN", "orange"),
        ({"SPACE LOW": 0.0001, "NOT KNOWN": -1.0}, "SPACE LOW", "orange"),
        ({"SPINS": 0.2, "LOG": 0.1}, "SPINS", "orange"),
        ({"SPINS": 0.2, "LOG": 0.6}, "LOG", "red"),
        ({"DOWN": 1.0, "SPINS": 0.9, "WORKS": -2.0}, "DOWN", "red"),
    ],
)
def test_the_state_is_the_word_that_weighs_most_in_the_colour_of_its_weight(
    tmp_path: Path, ranks: dict[str, float], word: str, colour: str
) -> None:
    state = panel("ase-server", "State")
    series = {
        f'ase_diagnosis_rank{{job="ase",instance="prod{number}",word="{each}"}}': rank
        for number, (each, rank) in enumerate(ranks.items())
    }
    expected = EvaluatedSample({"word": word}, ranks[word])
    holds(tmp_path, state["targets"][0]["expr"], series, [expected])
    steps = state["fieldConfig"]["defaults"]["thresholds"]["steps"]
    reached = [step for step in steps if step["value"] is None or ranks[word] >= step["value"]]
    assert reached[-1]["color"] == colour


def test_graphs_of_waits_show_the_events_of_the_time_account_whatever_their_class(tmp_path: Path) -> None:
    idle_class, busy_class = wait_parts().classes_of(IDLE)[-1], "waiting to take a lock"
    # The part of an event counts, so its class says the contrary; that of an unknown event is the one of its class.
    events = {
        str(event): (busy_class, False) if part == IDLE else (idle_class, True)
        for event, part in wait_parts().events.items()
    } | {"9998": (idle_class, False), "9999": (busy_class, True)}
    series = {
        f'ase_wait_seconds_total{{instance="a",job="ase",event_id="{number}",class="{said}"}}': counts
        for number, (said, counts) in events.items()
    }
    expr = panel("ase-server", "Waiting tasks by event")["targets"][0]["expr"]
    # All of them, not the ten largest.
    expr = substituted(expr, {"__rate_interval": "1m"}).removeprefix("topk(10, ").removesuffix(")")
    shown = [
        EvaluatedSample({"instance": "a", "job": "ase", "event_id": number, "class": said}, 1)
        for number, (said, counts) in events.items()
        if counts
    ]
    holds(tmp_path, expr, dict.fromkeys(series, "0+15"), shown)


SINGLE = [
    (dashboard["uid"], each)
    for dashboard in write.DASHBOARDS
    for each in dashboard["panels"]
    if each["type"] == "stat"
]
NAMES = [each for _, each in SINGLE if each["options"]["textMode"] == "name"]


def test_no_figure_is_shown_without_data(tmp_path: Path) -> None:
    # Those of Change impact depend on variables that have no value without a change.
    figures = [each for uid, each in SINGLE if each not in NAMES and uid != "ase-change"]
    expressions = [target["expr"] for each in figures for target in each["targets"]]
    holds(tmp_path, [substituted(each, {"__rate_interval": "1m"}) for each in expressions], {}, [])


@pytest.mark.parametrize("of_names", NAMES, ids=lambda each: str(each["title"]))
def test_a_panel_of_names_says_that_there_are_no_data(tmp_path: Path, of_names: Json) -> None:
    # Grafana shows the text for missing values only where it shows values.
    blank = of_names["fieldConfig"]["defaults"]["noValue"]
    (target,) = of_names["targets"]
    label = target["legendFormat"].strip("{}")
    holds(tmp_path, target["expr"], {}, [EvaluatedSample({label: blank}, 1)])
    colours = {
        each["matcher"]["options"]: each["properties"][0]["value"]["fixedColor"]
        for each in of_names["fieldConfig"]["overrides"]
    }
    assert colours[blank] == NEUTRAL
