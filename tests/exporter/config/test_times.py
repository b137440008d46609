"""One grammar of times and durations for every command, URL and setting."""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from datetime import timezone as timezone_of
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tests.exporter.clocks import BERLIN, timezone

from ase_exporter.assets import load_yaml
from ase_exporter.config import Config
from ase_exporter.config.fields import Seconds
from ase_exporter.config.times import moment_option, parse_duration, parse_moment
from ase_exporter.config.yaml_files import parse
from ase_exporter.errors import UserError

NOW = 1_777_900_000.0
TIMES = load_yaml(Path(__file__).with_name("times.yaml").read_text(encoding="utf-8"))


# As POSIX has them, so that no time zone database is needed: rules of the years since 2007.
ZONES = {
    "UTC": "UTC0",
    "Berlin": BERLIN,
    "New York": "EST5EDT,M3.2.0,M11.1.0",
    "Kathmandu": "<+0545>-5:45",
    "Lord Howe, half an hour of daylight saving": "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "Cairo, midnight is skipped": "EET-2EEST,M4.5.5/0,M10.5.4/24",
    "Havana, midnight comes twice": "CST5CDT,M3.2.0/0,M11.1.0/1",
}
MOMENTS = st.integers(min_value=1_200_000_000, max_value=4_000_000_000)
NAMES = st.sampled_from(sorted(ZONES))


def shown(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at))


def in_each_zone(*moments: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Examples of a property: these moments in each zone."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        for zone in ZONES:
            for at in moments:
                test = example(zone=zone, at=at)(test)
        return test

    return decorate


@given(zone=NAMES, at=MOMENTS)
@in_each_zone(1_792_976_400, 1_792_978_200)
def test_a_local_time_is_read_back_or_refused_when_it_is_shown_twice(zone: str, at: int) -> None:
    with timezone(ZONES[zone]):
        twice = any(shown(at + shift) == shown(at) for shift in (-3600, -1800, 1800, 3600))
        if twice:
            with pytest.raises(ValueError, match="shows this time twice; expected an offset"):
                parse_moment(shown(at), NOW)
        else:
            assert parse_moment(shown(at), NOW) == at
            assert parse_moment(shown(at).replace("T", " "), NOW) == at


@given(zone=NAMES, at=MOMENTS, offset=st.integers(min_value=-14 * 60, max_value=14 * 60))
def test_a_time_with_an_offset_is_the_same_in_every_zone(zone: str, at: int, offset: int) -> None:
    moment = datetime.fromtimestamp(at, timezone_of(timedelta(minutes=offset)))
    with timezone(ZONES[zone]):
        assert parse_moment(moment.isoformat(), NOW) == at
        assert parse_moment(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), NOW) == at
        assert parse_moment(str(at), NOW) == at


@given(zone=NAMES, at=MOMENTS)
@in_each_zone(1_776_981_600, 1_793_509_200)
def test_a_date_is_the_first_moment_of_that_local_day(zone: str, at: int) -> None:
    with timezone(ZONES[zone]):
        day = shown(at)[:10]
        start = parse_moment(day, NOW)
        assert shown(start).startswith(day)
        assert not shown(start - 1).startswith(day)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "2026-10-25T02:30",
            "this machine's clock shows this time twice; expected an offset with it, +02:00 or +01:00",
        ),
        ("2026-03-29T02:30", "this machine's clock skips this time; expected an offset with it, +0"),
    ],
)
def test_a_local_time_at_a_change_of_daylight_saving_needs_an_offset(text: str, problem: str) -> None:
    with timezone(BERLIN):
        with pytest.raises(UserError) as error:
            moment_option("--since", text, NOW)
        assert problem in str(error.value) and repr(text) in str(error.value)
    first, second = (parse_moment(f"2026-10-25T02:30{offset}", NOW) for offset in ("+02:00", "+01:00"))
    assert second - first == 3600


SETTING: TypeAdapter[float] = TypeAdapter(Seconds)
UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
DURATIONS = st.dictionaries(st.sampled_from(list(UNITS)), st.integers(0, 5000), min_size=1)


@given(parts=DURATIONS)
def test_a_duration_is_the_sum_of_its_parts_everywhere(parts: dict[str, int]) -> None:
    text = "".join(f"{parts[unit]}{unit}" for unit in UNITS if unit in parts)
    expected = sum(number * UNITS[unit] for unit, number in parts.items())
    assert parse_duration(text) == pytest.approx(expected, abs=1e-6)
    assert SETTING.validate_python(text) == parse_duration(text)
    assert NOW - parse_moment(text, NOW) == pytest.approx(expected, abs=1e-6)
    assert parse_moment(f"now-{text}", NOW) == parse_moment(text, NOW)


@given(seconds=st.integers(0, 10**9))
def test_a_duration_without_a_unit_is_in_seconds(seconds: int) -> None:
    assert parse_duration(str(seconds)) == seconds
    assert SETTING.validate_python(seconds) == seconds
    assert SETTING.validate_python(str(seconds)) == seconds


NO_DURATIONS = "s 1y 30m1h 1h1h -1h 1e3 inf nan ٣s 10000000000000s 0x10"


@pytest.mark.parametrize("text", ["", " ", "1 h", "8 parsecs", *NO_DURATIONS.split()])
def test_what_is_no_duration_is_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected a duration such as 500ms, 10s, 5m or 1h30m$"):
        parse_duration(text)
    for setting in (repr(text), ".inf", "true"):
        with pytest.raises(UserError, match=r"^c:1: scrape\.timeout: expected a duration"):
            parse(f"scrape: {{timeout: {setting}}}", Config, "c")


NO_MOMENTS = """
soon now- now+1h now-5 5 2026 20260504 2026-5-4 2026-13-01 2026-05-04T25:00 2026-05-04T10:30+25:00 10:61 nan -1h
1777890600000 0001-01-01 9999-12-31T23:59 today15:00 tomorrow 24:00 1:2 now-14:05 14:05Z
"""


@pytest.mark.parametrize("text", ["", "yesterday 25:00", *NO_MOMENTS.split()])
def test_what_is_no_moment_is_one_line(text: str) -> None:
    with timezone(BERLIN), pytest.raises(ValueError, match=r"^expected a time such as 2h") as error:
        parse_moment(text, NOW)
    assert "\n" not in str(error.value)


@given(text=st.text())
def test_any_text_is_a_finite_time_or_rejected(text: str) -> None:
    for read in (partial(parse_moment, now=NOW), parse_duration):
        try:
            assert math.isfinite(read(text))
        except ValueError as error:
            assert str(error).startswith("expected")


@pytest.mark.parametrize(("text", "expected"), TIMES["said"].items())
def test_days_and_times_as_people_say_them(text: str, expected: str) -> None:
    with timezone(BERLIN):
        assert shown(parse_moment(text, NOW)) == expected


@pytest.mark.parametrize(("start", "end", "expected"), TIMES["ends"])
def test_a_time_alone_that_ends_a_period_is_after_its_start(start: str, end: str, expected: str) -> None:
    with timezone(BERLIN):
        assert shown(parse_moment(end, NOW, parse_moment(start, NOW))) == expected
