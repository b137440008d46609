"""Which saved totals are deleted at a start, and which are continued."""

import os
from pathlib import Path

import pytest

from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.saved_totals import encode
from ase_exporter.metrics.totals_files import DIRECTORY, MAX_AGE, TotalsFiles

# Any time, a year before that of the clock or a year after it, for instance.
NEWEST = 1_700_000_000.0


def kept(state: Path, ages: dict[str, float]) -> set[str]:
    """The targets whose totals are left at a start, of those that were written so many seconds before NEWEST."""
    (state / DIRECTORY).mkdir()
    for target, age in ages.items():
        file = state / DIRECTORY / f"{target}.totals"
        file.write_bytes(encode(CounterStore()))
        os.utime(file, (NEWEST - age, NEWEST - age))
    TotalsFiles(state)
    return {file.stem for file in (state / DIRECTORY).iterdir()}


def test_a_clock_that_is_far_ahead_does_not_erase_the_totals(tmp_path: Path) -> None:
    """Those of a target that is not scraped any more are deleted."""
    assert kept(tmp_path, {"ONE": 0, "OLD": MAX_AGE + 1, "TWO": MAX_AGE - 1}) == {"ONE", "TWO"}


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory with totals of ONE, on a disk that has become full."""
    store = CounterStore()
    store.events["wrap"] = 1
    assert TotalsFiles(tmp_path).save("ONE", store, final=True)

    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ase_exporter.metrics.totals_files.write_bytes", no_space)
    return tmp_path


def test_totals_that_cannot_be_written_are_reported(full: Path, caplog: pytest.LogCaptureFixture) -> None:
    totals = TotalsFiles(full)
    assert totals.works
    assert not totals.save("ONE", CounterStore())
    assert not totals.works
    assert "totals cannot be written: No space left on device" in caplog.text


def test_totals_that_would_lag_behind_and_not_say_so_are_deleted(full: Path) -> None:
    """Whoever continues final totals counts on: another process must not take them for final again."""
    TotalsFiles(full).restore("ONE", CounterStore())
    assert list((full / DIRECTORY).iterdir()) == []


def test_totals_that_would_lag_behind_on_a_disk_that_is_read_only_are_not_continued(
    full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    totals, store = TotalsFiles(full), CounterStore()
    monkeypatch.setattr(Path, "unlink", read_only)
    totals.restore("ONE", store)
    assert not store.events


def test_damaged_totals_are_set_aside_and_counters_start_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    totals, store = TotalsFiles(tmp_path), CounterStore()
    assert totals.save("ONE", store)
    (path,) = (tmp_path / DIRECTORY).iterdir()
    path.write_bytes(damaged := path.read_bytes()[:-1] + b"x")
    totals.restore("ONE", store)
    assert "target ONE: counters restart at 0: saved totals are" in caplog.text
    (bad,) = (tmp_path / DIRECTORY).iterdir()
    assert (bad.name, bad.read_bytes(), store.tables) == ("ONE.bad", damaged, {})
