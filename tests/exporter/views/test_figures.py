"""The formatter of numbers and times: nothing is cut, rounded to another figure or shown as a number if it is none."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exporter.clocks import BERLIN, timezone

from ase_exporter.views.figures import (
    UNKNOWN,
    Unit,
    counted,
    duration,
    iso,
    minute,
    moment,
    number,
    shown,
    zone,
)

DAY = 86400


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.123456, "ratio", "12.3%"),
        (0.0, "ratio", "0.0%"),
        (80.554, "ratio", "8,055.4%"),
        (-0.0001, "ratio", "0.0%"),
        (-0.0, "count", "0"),
        (58.7, "percent", "58.7%"),
        (12345.6, "plain", "12,346"),
        (12.345, "count", "12.3"),
        (4.0, "count", "4"),
        (0.00123, "per_second", "0.00123"),
        (2.2849e-8, "plain", "2.28e-08"),
        (0.0, "plain", "0"),
        (99.96, "plain", "100"),
        (-1234.5, "plain", "-1,234"),
        (1.5 * 2**30, "bytes", "1.5 GB"),
        (64 * 2**10, "bytes", "64 KB"),
        (512.0, "bytes", "512 bytes"),
        (0.0777, "seconds", "77.7 ms"),
        *((value, unit, UNKNOWN) for value in (None, math.nan, math.inf) for unit in ("ratio", "seconds")),
    ],
)
def test_a_value_is_shown_in_its_unit(value: float | None, unit: Unit, text: str) -> None:
    assert shown(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(-0.031, "ratio", "-3.10 pp"), (4.0, "points", "+4.00 points"), (1399.2, "plain", "+1,399")],
)
def test_a_difference_has_its_sign_and_ratios_differ_by_points(value: float, unit: Unit, text: str) -> None:
    assert shown(value, unit, digits=4, sign="+") == text


@given(st.floats(-1e15, 1e15).filter(lambda value: value == 0 or abs(value) > 1e-12), st.integers(3, 10))
def test_as_many_digits_as_asked_for_are_true(value: float, digits: int) -> None:
    read = float(number(value, digits=digits).replace(",", ""))
    assert abs(read - value) <= max(abs(value) * 0.5 * 10 ** (1 - digits), 1e-15) * (1 + 1e-9)


def test_durations_have_two_units_at_most() -> None:
    texts = {
        5: "5 s",
        90: "90 s",
        150.1: "3 min",
        3600: "1 h",
        3900: "1 h 5 min",
        2 * DAY: "2 d",
        DAY + 7200: "1 d 2 h",
    }
    assert {seconds: duration(seconds) for seconds in texts} == texts


def test_times_are_local_with_their_date_and_no_time_of_others_is_an_error() -> None:
    winter, summer = 1_768_212_000.0, 1_783_850_400.0
    with timezone(BERLIN):
        assert (moment(winter), minute(winter)) == ("2026-01-12 11:00:00", "Mon 12 Jan 11:00")
        assert moment(summer) == "2026-07-12 12:00:00"
        assert (zone(winter), zone(winter, summer), zone(summer, math.nan)) == ("CET", "CET/CEST", "CEST")
        assert zone() in ("CET", "CEST")
        assert iso(winter) == "2026-01-12T10:00:00Z"
    assert [moment(each) for each in (1e300, math.nan, -math.inf)] == [UNKNOWN] * 3


def test_one_thing_is_no_plural() -> None:
    assert [counted(1, "change"), counted(1200, "change"), counted(2, "other is", "others are")] == [
        "1 change",
        "1,200 changes",
        "2 others are",
    ]
