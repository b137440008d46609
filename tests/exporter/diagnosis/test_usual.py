"""What is usual: medians of a day, kept in a file that may be damaged, and clocks that move."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.diagnosis.states import generated

from ase_exporter.diagnosis.diagnose import NO_BASELINE, Diagnosis, Level, diagnose
from ase_exporter.diagnosis.usual import ALIKE, DAY, DIRECTORY, KEPT, MIN_MOMENTS, RECENT, SPACING, Usual

BEGAN = 1.7e9


def with_reads(value: float, level: Level = "warn") -> Diagnosis:
    """A diagnosis in which a transaction makes so many logical reads."""
    found = diagnose(generated(1))
    reads = replace(found.measures["reads_per_transaction"], value=value)
    return replace(found, measures={**found.measures, "reads_per_transaction": reads}, level=level)


def filled(usual: Usual, values: list[float], began: float = BEGAN) -> float:
    """Note so many moments; returns the time of the last."""
    for number, value in enumerate(values):
        usual.note(began + number * SPACING, with_reads(value))
    return began + (len(values) - 1) * SPACING


def reads(usual: Usual, at: float) -> float | None:
    return usual.baseline(at).measures.get("reads_per_transaction")


def test_it_is_the_median_of_what_is_old_enough() -> None:
    usual = Usual("ONE", None)
    last = filled(usual, [*range(1, MIN_MOMENTS + 2), *[1000.0] * int(RECENT / SPACING)])
    assert reads(usual, last) == (MIN_MOMENTS + 2) / 2


def test_a_few_moments_are_not_usual() -> None:
    usual = Usual("ONE", None)
    last = filled(usual, [5.0] * (MIN_MOMENTS - 1))
    assert usual.baseline(last + RECENT) == NO_BASELINE


def test_moments_that_come_sooner_are_left_out_and_those_of_another_day_go() -> None:
    usual = Usual("ONE", None)
    last = filled(usual, [5.0] * MIN_MOMENTS)
    for number in range(100):
        usual.note(last + number / 10, with_reads(1e6))
    assert reads(usual, last + RECENT) == 5.0
    began = last + KEPT
    last = filled(usual, [9.0] * MIN_MOMENTS, began)
    assert reads(usual, last + RECENT) == 9.0


def test_the_same_hour_of_the_day_before_counts_where_it_is_known() -> None:
    """A batch at night is usual at night. Each call notes a moment first: the usual is calculated anew then."""
    usual = Usual("ONE", None)
    a_night = round(2 * ALIKE / SPACING)
    filled(usual, [900.0] * a_night)
    last = filled(usual, [5.0] * round((DAY - 2 * ALIKE) / SPACING), BEGAN + a_night * SPACING)
    assert reads(usual, last - ALIKE) == 5.0
    filled(usual, [5.0], last + SPACING)
    assert reads(usual, BEGAN + DAY + ALIKE) == 900.0


def test_an_incident_is_not_usual_because_it_lasts() -> None:
    usual = Usual("ONE", None)
    at = filled(usual, [5.0] * MIN_MOMENTS)
    for number in range(1, 50):
        usual.note(at + number * SPACING, with_reads(900.0, "bad"))
        assert number * SPACING < RECENT or reads(usual, at + number * SPACING) == 5.0


def test_after_the_clock_went_back_it_begins_anew() -> None:
    usual = Usual("ONE", None)
    filled(usual, [5.0] * MIN_MOMENTS)
    last = filled(usual, [9.0] * MIN_MOMENTS, BEGAN - 2 * KEPT)
    assert reads(usual, last + RECENT) == 9.0


def test_it_outlives_a_restart(tmp_path: Path) -> None:
    last = filled(Usual("A/B", tmp_path), [5.0] * MIN_MOMENTS)
    assert reads(Usual("A/B", tmp_path), last + RECENT) == 5.0
    assert Usual("OTHER", tmp_path).baseline(last + RECENT) == NO_BASELINE


@pytest.mark.parametrize("content", [b"", b"[", b"[[1]]", b'[["a", {}, {}]]', b"\xff" * 100, b"[" * 10_000])
def test_a_damaged_file_costs_one_line(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(Usual("ONE", tmp_path), [5.0])
    (path,) = (tmp_path / DIRECTORY).iterdir()
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        usual = Usual("ONE", tmp_path)
    assert usual.baseline(BEGAN) == NO_BASELINE
    (said,) = (each.getMessage() for each in caplog.records)
    assert said.startswith("target ONE: what is usual begins anew: ") and "\n" not in said
    filled(usual, [5.0])


def test_a_directory_that_cannot_be_written_costs_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / DIRECTORY).write_text("")
    usual = Usual("ONE", tmp_path)
    last = filled(usual, [5.0] * MIN_MOMENTS)
    assert reads(usual, last + RECENT) == 5.0
    assert all("\n" not in each.getMessage() for each in caplog.records)
