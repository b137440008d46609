"""The Python API over a recorded story: one definition of contention, windows and comparisons as `compare` has them."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.exporter.analysis.story import GUILTY, HARMLESS, HOTTEST, LATER, SERVER, Story
from tests.paths import REPOSITORY

from ase_exporter.analysis import (
    Prometheus,
    UserError,
    advise,
    changes,
    compare,
    contention,
    differences,
    measure,
    moment,
    windows,
)
from ase_exporter.assets import load_yaml
from ase_exporter.compare.request import Request, answer

pytestmark = pytest.mark.e2e
RULES = REPOSITORY / "alerts" / "rules"


@pytest.fixture
def prometheus(story: Story) -> Iterator[Prometheus]:
    with Prometheus(story.url) as found:
        yield found


def rule(name: str) -> str:
    """The expression of a recording rule over raw metrics: recorded series replaced by their own expressions."""
    recorded = {
        each["record"]: each["expr"]
        for path in RULES.glob("*.rules.yaml")
        for group in load_yaml(path.read_text())["groups"]
        for each in group["rules"]
    }

    def replaced(match: re.Match[str]) -> str:
        return f"({rule(match[0])})"

    return re.sub(r"ase:[a-z_0-9:]+(?!\{)\b", replaced, str(recorded[name]))


def test_contention_is_that_of_the_recording_rule(prometheus: Prometheus, story: Story) -> None:
    ours = contention(prometheus, SERVER, story.start + 300, story.end, top=100)
    expected = prometheus.over(
        rule("ase:spinlock_contention:ratio_rate1m"), float(ours.times[0]), story.end, 15
    )
    compared = 0
    for series in expected:
        mine = ours.values.get(series.labels["spinlock"])
        if mine is None:
            continue
        theirs = dict(zip(series.times, series.values, strict=True))
        for at, value in zip(ours.times, mine, strict=True):
            if not math.isnan(value) and at in theirs:
                assert value == pytest.approx(theirs[at], abs=1e-12)
                compared += 1
    assert compared > 500
    assert {HOTTEST, "default data cache"} <= ours.values.keys()


def test_throughput_is_that_of_the_recording_rule(prometheus: Prometheus, story: Story) -> None:
    ours = measure(prometheus, SERVER, "throughput_per_cpu_unit", story.start + 300, story.end)
    cpu = "sum without (thread, pool, mode) (rate(ase_thread_cpu_seconds_total[1m]))"
    (expected,) = prometheus.over(
        f"rate(ase_transactions_total[1m]) / {cpu}", float(ours.times[0]), story.end, 15
    )
    np.testing.assert_allclose(ours.values[""], expected.values, rtol=1e-9)


def test_the_contention_rises_with_the_guilty_change(prometheus: Prometheus, story: Story) -> None:
    series = contention(prometheus, SERVER, story.start, story.end)
    before = series.values[HOTTEST][(series.times > story.start + 120) & (series.times < story.at(GUILTY))]
    after = series.values[HOTTEST][series.times > story.at(GUILTY) + 120]
    assert np.nanmax(before) + 0.03 < np.nanmin(after)


def test_advice_is_what_a_live_server_would_get(prometheus: Prometheus, story: Story) -> None:
    advice = advise(prometheus, SERVER, story.at(GUILTY) + 60, story.at(LATER))
    hottest, found = advice.findings[0], advice.evidence
    assert (hottest.spinlock.name, hottest.severity) == (HOTTEST, "severe")
    assert "cache_partition=" in hottest.steps[0].statements[0]
    assert (str(found.version), found.engines, found.page_size) == ("16.0 SP03 PL08", 128, 4096)
    assert found.options[HARMLESS] == 2_500_000
    assert {cache.name: cache.partitions for cache in found.caches}[HOTTEST] == 4
    assert set(found.missing) == {"ase_cached_object_bytes"}


def test_changes_windows_and_differences(prometheus: Prometheus, story: Story) -> None:
    found = changes(prometheus, SERVER, story.start + 60, story.end)
    assert list(found["name"]) == [HARMLESS, GUILTY, LATER]
    for name, at, not_before in zip(found["name"], found["at"], found["not_before"], strict=True):
        assert not_before <= story.at(name) <= at
    spans = windows(prometheus, SERVER, change=GUILTY)
    assert [span.name for span in spans] == ["before", "after"]
    comparison = compare(prometheus, SERVER, spans)
    table = differences(comparison)
    row = int(np.flatnonzero((table["measure"] == "cache_contention") & (table["name"] == HOTTEST))[0])
    assert table["verdict"][row] == "worse"
    assert 0 < table["low"][row] <= table["difference"][row] <= table["high"][row]
    # The command says the same.
    said = answer(Request(story.url, SERVER, change=GUILTY))
    assert [each.values for each in said.rows] == [each.values for each in comparison.rows]
    assert said.spans == comparison.spans


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"key": "speed"}, "measure: speed: expected one of cpu_busy, "),
        ({"server": "PROD9"}, 'Prometheus has no data of {instance="PROD9"} in it, only of instance PROD1'),
        ({"start": "yesterday"}, "start: 'yesterday': expected a time such as 2h"),
        ({"start": "now", "end": "now-1h"}, "end: expected a time after the start"),
        ({"start": datetime(2026, 1, 1)}, "start: 2026-01-01T00:00:00: expected a datetime with a time zone"),
    ],
)
def test_bad_input_is_one_line(
    prometheus: Prometheus, story: Story, wanted: dict[str, object], says: str
) -> None:
    given = {"server": SERVER, "key": "cpu_busy", "start": story.start, "end": story.end} | wanted
    with pytest.raises(UserError) as raised:
        measure(prometheus, **given)  # type: ignore[arg-type]
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_window_too_short_for_a_rate_is_said(prometheus: Prometheus, story: Story) -> None:
    with pytest.raises(UserError, match="expected at least 60 s"):
        contention(prometheus, SERVER, story.end - 45, story.end)


def test_moments() -> None:
    assert moment(datetime(2026, 1, 1, tzinfo=UTC)) == moment("2026-01-01T00:00Z") == moment(1767225600)
