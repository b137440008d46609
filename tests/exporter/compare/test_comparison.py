"""Comparisons over a real Prometheus give the figures that its history was made of."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.compare.conftest import PER_CPU_UNIT, PHASES, History
from tests.exporter.compare.test_prometheus import server

from ase_exporter.assets import load_yaml
from ase_exporter.changes.change import Change
from ase_exporter.commands.changes import changes_view
from ase_exporter.compare.comparison import Comparison, ComparisonRow, compare_windows
from ase_exporter.compare.marks import marks_between
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import Request, _find, answer, instance_named, server_selector
from ase_exporter.compare.windows import Span, parse_span
from ase_exporter.errors import UserError
from ase_exporter.views.terminal import text

LITTLE = ["cpu_busy"]
NO_COMPARISON = load_yaml(Path(__file__).with_name("no_comparison.yaml").read_text(encoding="utf-8"))


def row(comparison: Comparison, key: str, name: str = "") -> ComparisonRow:
    (found,) = [row for row in comparison.rows if (row.key, row.name) == (key, name)]
    return found


def compared(history: History, **options: Any) -> Comparison:
    """The comparison that options ask for, by one measure if they name none."""
    with Prometheus(options.pop("prometheus", history.url)) as prometheus:
        return answer(prometheus, Request(**{"target": "ASE1", "measures": LITTLE} | options))


@pytest.fixture(scope="session")
def series(history: History) -> Comparison:
    return of_spans(
        history, [parse_span(name, history.window(number), 0.0) for number, name in enumerate(PHASES)]
    )


def of_spans(history: History, spans: list[Span], keys: list[str] | None = None) -> Comparison:
    with Prometheus(history.url) as prometheus:
        now = time.time()
        marks = marks_between(prometheus, server_selector("ASE1"), history.life.start, now, now)
        return compare_windows(prometheus, server_selector("ASE1"), spans, keys=keys, marks=marks)


@pytest.mark.parametrize(("name", "instance"), [("ASE1", "ASE1"), ("ASE1_SQL", "ASE1"), ("ASE9", "ASE9")])
def test_a_server_has_the_name_of_its_target_and_its_own(history: History, name: str, instance: str) -> None:
    with Prometheus(history.url) as prometheus:
        assert instance_named(prometheus, name) == instance


def test_each_window_shows_the_figures_that_went_in(history: History, series: Comparison) -> None:
    for number, work in enumerate(history.life.work):
        busy = row(series, "cpu_busy").values[number]
        per_unit = row(series, "throughput_per_cpu_unit").values[number]
        assert busy == pytest.approx(work.busy, abs=0.005)
        assert per_unit == pytest.approx(PER_CPU_UNIT, rel=0.01)
        for spinlock, contention in (("log cache", work.contention), ("system tables cache", work.tables)):
            assert row(series, "cache_contention", spinlock).values[number] == pytest.approx(
                contention, abs=0.005
            )


def test_verdicts_follow_the_direction_of_good(series: Comparison) -> None:
    # CPU also falls when nothing gets done.
    busy = row(series, "cpu_busy")
    assert [step and step.verdict for step in busy.steps] == ["changed", "no evidence", "changed"]
    cache = row(series, "cache_contention", "system tables cache")
    assert [step and step.verdict for step in cache.steps] == ["better", "no evidence", "better"]
    log = row(series, "cache_contention", "log cache")
    assert [step and step.verdict for step in log.steps] == ["better", "no evidence", "worse"]


def test_a_difference_in_load_is_said_and_loads_that_do_not_overlap_are_not_compared(
    series: Comparison,
) -> None:
    said = r"load differs: 2,\d{3} .* window busy, .*; too few samples have equal load to compare by them"
    assert any(re.match(said, warning) for warning in series.warnings)
    assert not any("window same" in warning for warning in series.warnings if "load" not in warning)
    assert row(series, "cpu_busy").at_equal_load[-1] is None


def test_the_exporters_history_gives_windows_by_the_id_of_a_change(history: History) -> None:
    changes = [Change(f"id{n}", "ASE1", "option", "TSX", "0", "1", history.starts[n]).json() for n in (1, 3)]
    with server(json.dumps(changes).encode()) as (address, _):
        options = {"change": "id1", "settle": 30, "length": 600}
        result = compared(history, exporter=f"http://{address}", **options)
    assert result.spans[0].end == history.starts[1]
    with pytest.raises(UserError, match="--url: http"):
        compared(history, exporter="http://127.0.0.1:1", **options)


def test_a_change_is_found_by_its_text_as_every_list_shows_it() -> None:
    mark = Change("", "ASE1", "cache", "log cache: type", "Mixed", "Lockless Data Cache", 1.0)
    others = [replace(mark, name="log cache: size"), replace(mark, new="Mixed", old="Lockless Data Cache")]
    listed = text(changes_view([mark])).splitlines()[1].partition("ASE1 ")[2]
    for shown in (listed, mark.brief, str(mark), "type Mixed"):
        assert _find([mark, *others], shown) == mark


def test_changes_cut_a_range_into_runs(history: History) -> None:
    whole = f"{history.life.start}..{history.life.end}"
    result = compared(history, runs=whole, settle=30)
    names = [span.name.split(": ")[-1] for span in result.spans]
    assert names == ["start", "TSX 0 -> 1", "same 0 -> 1", "busy 0 -> 1"]


def test_a_window_with_a_change_inside_is_doubted(history: History) -> None:
    before = f"{history.starts[1] - 300}..{history.starts[1] + 300}"
    result = compared(history, before=before, after=history.window(2))
    doubts = "window before contains a change: option: TSX"
    assert any(warning.startswith(doubts) for warning in result.warnings)


@pytest.mark.parametrize(("options", "problem"), NO_COMPARISON)
def test_what_cannot_be_compared_is_one_clear_line(
    history: History, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(UserError) as caught:
        compared(history, **options)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_window_too_short_to_say_anything_is_refused(history: History) -> None:
    start = history.starts[0]
    with pytest.raises(UserError, match=r"it has 45 s \(15 s less: no data before\); expected at least"):
        compared(history, before=f"{start}..{start + 60}", after=history.window(1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--measure", "wait_time"),
            "No measure could be judged: too few samples in a window; see `ase-exporter check`.",
        ),
        (("--before", "1000000000..1000001000"), "ase-exporter: window before: Prometheus has no data of"),
    ],
)
def test_too_little_for_an_answer_is_exit_code_1_and_says_what_to_switch_on(
    history: History, run: Run, options: tuple[str, ...], said: str
) -> None:
    windows = ("--before", history.window(0), "--after", history.window(1))
    ended = run("compare", "--prometheus", history.url, "-S", "ASE1", *windows, *options)
    assert ended.returncode == 1
    assert (ended.stdout + ended.stderr).startswith(said) and "`ase-exporter " in ended.stdout + ended.stderr
