"""Lines that repeat are left out and counted."""

import logging
from collections.abc import Iterator

import pytest
from tests.exporter.clocks import StandingClock

from ase_exporter.logs import MAX_EQUAL_LINES, MAX_LINES_OF_A_PLACE, REPEAT_SECONDS, RepeatFilter, configure


@pytest.fixture
def clock(caplog: pytest.LogCaptureFixture) -> Iterator[StandingClock]:
    """The time of the filter through which caplog gets its lines."""
    clock = StandingClock()
    repeats = RepeatFilter(clock.monotonic)
    caplog.handler.addFilter(repeats)
    yield clock
    caplog.handler.removeFilter(repeats)


log = logging.getLogger("tests.repeated")


def say(text: str) -> None:
    log.warning("target %s is down", text)


def test_equal_lines_are_written_a_few_times_a_minute_and_then_counted(
    caplog: pytest.LogCaptureFixture, clock: StandingClock
) -> None:
    for _ in range(1000):
        say("ONE")
    assert caplog.messages == ["target ONE is down"] * MAX_EQUAL_LINES
    clock.ahead = REPEAT_SECONDS + 1
    say("ONE")
    say("ONE")
    left_out = 1000 - MAX_EQUAL_LINES
    assert caplog.messages[-2:] == [
        f"target ONE is down ({left_out} lines like this were left out before)",
        "target ONE is down",
    ]


@pytest.mark.usefixtures("clock")
def test_lines_that_differ_are_written_up_to_a_number(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * MAX_LINES_OF_A_PLACE):
        say(str(number))
    assert len(caplog.messages) == MAX_LINES_OF_A_PLACE
    assert caplog.messages[0] == "target 0 is down"


@pytest.mark.usefixtures("clock")
def test_lines_of_other_places_are_not_affected(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(1000):
        say("ONE")
    log.warning("something else")
    assert caplog.messages[-1] == "something else"


def test_line_breaks_and_escape_sequences_of_a_server_stay_within_their_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure("text", "warning")
    log.warning("target ONE: %s", "denied\n2026-01-01T00:00:00Z ERROR fake\x1b[31m")
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("target ONE: denied\\n2026-01-01T00:00:00Z ERROR fake\\x1b[31m")
