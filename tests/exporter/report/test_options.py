"""The options of the report, its bins, and stores that do not answer."""

import itertools
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.exporter.commands.command_line import Run
from tests.ports import free_block

from ase_exporter.compare.prometheus import Series
from ase_exporter.errors import UserError
from ase_exporter.report.history import binned
from ase_exporter.report.period import DAY, MAX_BINS, Range, bin_length

NOW = datetime(2026, 5, 4, 10, 7, tzinfo=UTC).timestamp()


def test_a_week_until_now_is_the_default_and_no_end_is_in_the_future() -> None:
    period = Range().period(NOW)
    assert (period.end, period.seconds, period.step) == (NOW, 7 * DAY, 900.0)
    assert Range("1h", "2026-05-05T00:00Z").period(NOW).end == NOW


def test_bins_cover_the_period_and_begin_on_multiples_of_their_length() -> None:
    period = Range("5h").period(NOW)
    assert period.first % period.step == 0
    assert period.first <= period.start < period.first + period.step
    assert period.starts[-1] < period.end <= period.starts[-1] + period.step
    assert period.shares.sum() * period.step == pytest.approx(period.seconds)


def test_no_period_has_many_bins_or_bins_without_two_scrapes() -> None:
    for days, scrape in itertools.product((1 / 24, 1, 7, 31, 100, 400), (15, 60, 300)):
        length = bin_length(days * DAY, scrape)
        assert days * DAY / length < MAX_BINS and length >= 2 * scrape, (days, scrape)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("2026-05-03T12:00Z", "2026-05-03T12:00Z", "--since: the period ends before it begins"),
        ("2026-06-01", None, "--since: the period ends before it begins, or lies in the future"),
        ("60s", None, "--since: a period of 60 s: expected 1h to 400d"),
        ("1000d", None, "--since: a period of 86,400,000 s: expected 1h to 400d"),
        ("tomorrow", None, "--since: 'tomorrow': expected a time such as"),
        (None, "12", "--until: '12': expected a time such as"),
    ],
)
def test_a_bad_period_is_said(start: str | None, end: str | None, message: str) -> None:
    with pytest.raises(UserError) as raised:
        Range(start, end).period(NOW)
    assert str(raised.value).startswith(message)


def test_a_store_that_does_not_answer_is_one_line(run: Run) -> None:
    url = f"http://127.0.0.1:{free_block(1)}"
    ended = run("report", "--prometheus", url, "--target", "ASE1")
    assert ended.returncode == 2
    assert (
        ended.stderr
        == f"ase-exporter: Prometheus at {url}: connection refused: expected one that runs at --prometheus\n"
    )


def test_points_outside_of_the_period_are_left_out() -> None:
    period = Range("1h").period(NOW)
    times = np.array([period.first, *(period.starts + period.step), period.starts[-1] + 2 * period.step])
    found = binned(Series({}, times, np.arange(len(times), dtype=float)), period)
    assert list(found) == list(range(1, period.count + 1))
