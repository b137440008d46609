"""Which readings rates are taken from."""

import pytest

from ase_exporter.metrics.families import Family
from ase_exporter.readings.samples import WINDOW, MetricSeries, Tracker

NAME = "ase_x_total"


def family(value: float, name: str = NAME) -> Family:
    return Family(name, "counter", "Help text.", ("row",), [(("a",), value)])


def rate(series: MetricSeries) -> float:
    ((_, found),) = series.rates()
    return found


def test_a_reading_that_is_exposed_again_changes_nothing() -> None:
    tracker, again = Tracker(), family(9.0)
    tracker.note(0.0, {"collector": [family(5.0)]})
    for at in (2.0, 4.0, 6.0):
        tracker.note(at, {"collector": [again]})
    assert rate(tracker.series()[NAME]) == 2.0


def test_a_counter_that_the_budget_holds_back_keeps_its_rate() -> None:
    tracker = Tracker()
    tracker.note(0.0, {"collector": [family(5.0)]})
    tracker.note(2.0, {"collector": [family(9.0)]})
    tracker.note(4.0, {"collector": []})
    assert rate(tracker.series()[NAME]) == 2.0
    tracker.note(8.0, {"collector": [family(10.0)]})
    assert rate(tracker.series()[NAME]) == pytest.approx(5 / 8)


@pytest.mark.parametrize("collected", [{}, {"collector": [family(9.0)]}])
def test_a_collector_that_failed_loses_its_numbers_and_a_gap_gives_no_rate(
    collected: dict[str, list[Family]],
) -> None:
    tracker = Tracker()
    tracker.note(0.0, {"collector": [family(5.0)]})
    tracker.note(2.0, collected, {"collector"})
    assert tracker.series() == {}
    tracker.note(4.0, {"collector": [family(5.0)]})
    tracker.forget()
    tracker.note(6.0, {"collector": [family(9.0)]})
    assert list(tracker.series()[NAME].rates()) == []


def test_a_window_reaches_back_so_far_and_no_farther_unless_the_interval_is_longer() -> None:
    tracker = Tracker()
    for at in range(0, 61, 2):
        tracker.note(float(at), {"collector": [family(float(at * at))]})
    series = tracker.series()[NAME]
    assert WINDOW <= series.window < WINDOW + 2
    oldest = 60 - series.window
    assert rate(series) == pytest.approx((60**2 - oldest**2) / series.window)
    for late in (120.0, 180.0):
        tracker.note(late, {"collector": [family(late)]})
    assert tracker.series()[NAME].window == 60.0


def test_a_row_that_is_new_has_no_rate_yet_and_one_that_went_is_gone() -> None:
    tracker = Tracker()
    tracker.note(0.0, {"collector": [family(5.0)]})
    new = Family(NAME, "counter", "Help text.", ("row",), [(("b",), 7.0)])
    tracker.note(2.0, {"collector": [new]})
    series = tracker.series()[NAME]
    assert list(series.rates()) == [] and list(series.values()) == [({"row": "b"}, 7.0)]


def test_a_table_that_has_no_row_any_more_is_not_what_it_was() -> None:
    tracker = Tracker()
    for at in (0.0, 60.0):
        tracker.note(at, {"collector": [family(at)]})
    tracker.note(120.0, {"collector": [Family(NAME, "counter", "Help text.", ("row",))]})
    series = tracker.series()[NAME]
    assert list(series.rates()) == list(series.values()) == []
