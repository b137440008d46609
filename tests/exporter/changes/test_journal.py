"""The journal: changes from snapshots, annotations, maintenance, and a disk that fails."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.changes.option_snapshots import snapshot_of
from tests.programs import eventually_here

from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.changes.journal import MAX_OF_KIND, MAX_RECENT, Journal
from ase_exporter.changes.metrics import host_families, own_families, target_families
from ase_exporter.changes.snapshot import ConfigSnapshot, Part, Setting, encode
from ase_exporter.changes.store import ChangeFilter, Store, StoreError
from ase_exporter.config.changes import ChangesConfig
from ase_exporter.metrics.exposition import render_text

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def started(directory: Path | None = None) -> AsyncIterator[Journal]:
    journal = Journal(ChangesConfig(), directory)
    await journal.start()
    yield journal
    await journal.stop()


async def settled(journal: Journal) -> None:
    """Wait until the snapshot is compared and saved."""
    await eventually_here(
        "compared and saved",
        lambda: "PROD" in journal._last_snapshots and not journal._pending and not journal._unsaved,
    )


def metrics_of(journal: Journal, target: str) -> str:
    return render_text([*target_families(journal, target), *own_families(journal)])


def metrics(journal: Journal) -> str:
    return metrics_of(journal, "PROD")


async def test_the_first_snapshot_is_a_baseline_and_the_next_shows_a_change() -> None:
    async with started() as journal:
        journal.on_snapshot("PROD", snapshot_of({"number of locks": "5000"}))
        await settled(journal)
        assert journal.recent("PROD") == []
        journal.on_snapshot("PROD", snapshot_of({"number of locks": "9000"}))
        await eventually_here("the change", lambda: len(journal.recent("PROD")) == 1)
        (change,) = journal.recent("PROD")
        assert (change.name, change.old, change.new) == ("number of locks", "5000", "9000")
        assert change.not_before is not None and change.not_before <= change.at
        text = metrics(journal)
        assert (
            'ase_change_timestamp_seconds{from="5000",kind="option",name="number of locks",to="9000"}' in text
        )
        assert 'ase_changes_total{kind="option"} 1.0' in text
        assert len(await journal.find(ChangeFilter())) == 1


async def test_a_snapshot_that_renames_everything_is_bounded_by_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def renamed(number: int) -> ConfigSnapshot:
        databases = {f"db{number}_{each}": {"": Setting("online")} for each in range(MAX_OF_KIND)}
        options = {"number of locks": {"": Setting(str(number))}}
        parts = {"database": Part("database", "s", databases), "option": Part("option", "s", options)}
        return ConfigSnapshot(time.time(), encode(parts))

    async with started() as journal:
        for number in range(2):
            journal.on_snapshot("PROD", renamed(number))
            await settled(journal)
        assert journal.totals("PROD") == {"database": MAX_OF_KIND, "option": 1}
    assert f"PROD: {MAX_OF_KIND} changes of one snapshot are left out" in caplog.text


async def test_an_unchanged_snapshot_moves_not_before(tmp_path: Path) -> None:
    async with started(tmp_path) as journal:
        journal.on_snapshot("PROD", snapshot_of({"a": "1"}))
        await settled(journal)
        confirmed = time.time()
        journal.on_snapshot("PROD", replace(snapshot_of({"a": "1"}), at=confirmed))
    async with started(tmp_path) as again:
        again.on_snapshot("PROD", snapshot_of({"a": "2"}))
        await eventually_here("the change", lambda: len(again.recent("PROD")) == 1)
        assert again.recent("PROD")[0].not_before == confirmed


async def test_an_annotation_without_a_target_is_shown_for_every_target() -> None:
    async with started() as journal:
        for target, text in (("", "for all"), ("PROD", "mine"), ("TEST", "another's")):
            await journal.annotate(Change(new_id(), target, ANNOTATION, text, "", "", time.time()))
        assert {change.name for change in journal.recent("PROD")} == {"for all", "mine"}


def announced(target: str, *tags: str, hours_ago: float = 0.0) -> Change:
    at = time.time() - hours_ago * 3600
    return Change(new_id(), target, ANNOTATION, "patching", "", "", at, source="user", tags=tags)


def in_maintenance(journal: Journal) -> set[str]:
    """Of these targets, and '' for the machine, those whose metrics say so."""
    found = {target for target in ("PROD", "TEST") if "\nase_maintenance 1.0" in metrics_of(journal, target)}
    return found | ({""} if "\ndbhost_maintenance 1.0" in render_text(host_families(journal)) else set())


async def test_maintenance_is_announced_by_a_tag_until_it_is_finished_and_survives_a_restart(
    tmp_path: Path,
) -> None:
    async with started(tmp_path) as journal:
        await journal.annotate(announced("TEST", "another tag"))
        assert in_maintenance(journal) == set()
        mine, everybodys = announced("PROD", "maintenance"), announced("", "maintenance")
        await journal.annotate(mine)
        assert in_maintenance(journal) == {"PROD"}
        await journal.annotate(everybodys)
        assert in_maintenance(journal) == {"", "PROD", "TEST"}
        await journal.finish(everybodys.id, time.time())
    async with started(tmp_path) as again:
        assert in_maintenance(again) == {"PROD"}
        await again.finish(mine.id, time.time())
        assert in_maintenance(again) == set()


async def test_maintenance_that_was_forgotten_ends_after_a_day() -> None:
    async with started() as journal:
        await journal.annotate(announced("PROD", "maintenance", hours_ago=25))
        await journal.annotate(announced("TEST", "maintenance", hours_ago=23))
        assert in_maintenance(journal) == {"TEST"}


async def test_nothing_is_kept_of_names_that_are_asked_for_nor_of_maintenance_that_is_over() -> None:
    async with started() as journal:
        for number in range(100):
            assert journal.recent(f"invented {number}") == []
            assert journal.totals(f"invented {number}") == {}
            assert not journal.in_maintenance(f"invented {number}")
            await journal.annotate(announced("PROD", "maintenance", hours_ago=25))
        await journal.annotate(announced("PROD", "maintenance"))
        assert journal._recent.keys() == {"PROD"}
        assert len(journal._maintenance) == 1


async def test_metrics_are_bounded_in_number_age_and_length() -> None:
    async with started() as journal:
        old = Change(new_id(), "PROD", ANNOTATION, "old", "", "", time.time() - 7 * 3600)
        await journal.annotate(old)
        for number in range(MAX_RECENT + 10):
            text = f"{number} {'x' * 500}"
            await journal.annotate(Change(new_id(), "PROD", ANNOTATION, text, "", "", time.time()))
        lines = [line for line in metrics(journal).splitlines() if line.startswith("ase_change_timestamp")]
        assert len(lines) == MAX_RECENT
        assert max(map(len, lines)) < 250
        assert 'name="old"' not in "".join(lines)


async def test_a_disk_that_is_full_costs_a_metric_and_a_log_line_and_nothing_is_lost_when_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record = Store.record

    def full(*_: object) -> None:
        raise StoreError("database or disk is full")

    async with started(tmp_path) as journal:
        journal.on_snapshot("PROD", snapshot_of({"a": "1"}))
        await settled(journal)
        monkeypatch.setattr(Store, "record", full)
        journal.on_snapshot("PROD", snapshot_of({"a": "2"}))
        await eventually_here("an error of the store", lambda: journal.store_errors > 0)
        text = metrics(journal)
        assert "ase_exporter_change_store_up 0.0" in text
        assert 'name="a",to="2"' in text
        monkeypatch.setattr(Store, "record", record)
        journal.on_snapshot("PROD", snapshot_of({"a": "3"}))
        await eventually_here("all changes", lambda: journal.store_ok and len(journal.recent("PROD")) == 2)
    assert caplog.text.count("database or disk is full") == 1
    after = Store(tmp_path, None)
    assert [change.new for change in after.find(ChangeFilter())] == ["3", "2"]
    after.close()
