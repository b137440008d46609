"""The history on disk: kept over restarts, bounded, for one process, and never fatal."""

import errno
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.changes.store import FILE, LOCK, ChangeFilter, StoreError, open_store
from ase_exporter.errors import UserError

NOW = 1_790_000_000.0


def change(
    name: str = "number of locks", at: float = NOW, target: str = "PROD", kind: str = "option"
) -> Change:
    return Change(new_id(), target, kind, name, "5000", "9000", at, at - 60, who="sa", tags=("tuning",))


def test_the_lock_of_a_killed_exporter_does_not_stay(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from ase_exporter.changes.store import open_store;"
        "s = open_store(Path(sys.argv[1])); print('open', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "open\n"
    with pytest.raises(UserError, match=f"process {holder.pid}"):
        open_store(tmp_path)
    holder.kill()
    holder.communicate()
    open_store(tmp_path).close()


@pytest.mark.parametrize("damage", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside_and_begun_anew(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(damage)
    store = open_store(tmp_path)
    store.record("PROD", NOW, b"", [change()])
    store.close()
    assert (tmp_path / f"{FILE}.damaged").read_bytes() == damage
    assert "is damaged" in caplog.text


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_fifo_in_place_of_a_file_is_set_aside(tmp_path: Path, suffix: str) -> None:
    open_store(tmp_path).close()
    (tmp_path / f"{FILE}{suffix}").unlink(missing_ok=True)
    os.mkfifo(tmp_path / f"{FILE}{suffix}")
    store = open_store(tmp_path)
    assert store.find(ChangeFilter()) == []
    store.close()


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / LOCK).symlink_to("other")
    with pytest.raises(UserError, match="symbolic link"):
        open_store(tmp_path)
    assert (tmp_path / "other").read_text() == "other"


def test_a_disk_that_has_become_read_only_keeps_no_process_from_coming_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(tmp_path).close()
    real = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    store = open_store(tmp_path)
    with pytest.raises(UserError, match="another ase-exporter"):
        open_store(tmp_path)
    store.close()


def test_damage_while_running_costs_an_error_and_the_next_write_works(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.record("PROD", NOW, b"x" * 100_000, [change(str(number)) for number in range(300)])
    store.close()
    store = open_store(tmp_path)
    with (tmp_path / FILE).open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom((tmp_path / FILE).stat().st_size - 4096))
    # SQLite would otherwise answer from its memory.
    store._database.execute("PRAGMA shrink_memory")
    with pytest.raises(StoreError):
        store.find(ChangeFilter())
    store.record("PROD", NOW, b"", [change()])
    assert len(store.find(ChangeFilter())) == 1
    store.close()


def test_a_file_of_a_newer_layout_is_refused_and_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(UserError, match="newer version"):
        open_store(tmp_path)
    assert not (tmp_path / f"{FILE}.damaged").exists()


def test_history_is_bounded_by_age_and_by_number() -> None:
    store = open_store(None)
    store.record("PROD", NOW, b"", [change("old", NOW - 1000)])
    store.record("PROD", NOW, b"", [change(str(number)) for number in range(10)])
    store.prune(before=NOW - 500, max_changes=20)
    assert len(store.find(ChangeFilter())) == 10
    store.prune(before=NOW - 500, max_changes=5)
    assert {found.name for found in store.find(ChangeFilter())} == {"5", "6", "7", "8", "9"}
    assert store.totals() == {("PROD", "option"): 11}


def test_a_server_that_changes_all_the_time_costs_the_others_no_history() -> None:
    store = open_store(None)
    store.record("PROD", NOW, b"", [change(name) for name in ("first", "second")])
    flood = [replace(change(str(number)), target="FLOOD") for number in range(20)]
    store.record("FLOOD", NOW, b"", flood)
    store.add(Change(new_id(), "FLOOD", ANNOTATION, "ALTER", "", "", NOW, source="user"))
    store.prune(before=0.0, max_changes=6)
    assert {found.name for found in store.find(ChangeFilter())} == {
        "first",
        "second",
        "ALTER",
        "17",
        "18",
        "19",
    }


def test_a_region_ends_once() -> None:
    store = open_store(None)
    begun = Change(new_id(), "", ANNOTATION, "ALTER", "", "", NOW, source="user")
    assert store.add(begun)
    ended = store.finish(begun.id, NOW + 60, "exit code 1")
    assert ended and (ended.end, ended.failed, ended.new) == (NOW + 60, True, "exit code 1")
    assert store.finish(begun.id, NOW + 90, "") == ended
    assert store.finish("unknown", NOW, "") is None


def test_changes_are_found_by_target_kind_text_and_time() -> None:
    store = open_store(None)
    one, two = change("number of locks", NOW), change("orders: partitions", NOW + 10, "TEST", "cache")
    store.record("PROD", NOW, b"", [one, two])
    assert store.find(ChangeFilter()) == [two, one]
    assert store.find(ChangeFilter(target="PROD")) == [one]
    assert store.find(ChangeFilter(kind="cache")) == [two]
    assert store.find(ChangeFilter(text="PARTITION")) == [two]
    assert store.find(ChangeFilter(text="tuning")) == [two, one]
    assert store.find(ChangeFilter(since=NOW + 5)) == [two]
    assert store.find(ChangeFilter(until=NOW + 5)) == [one]
    assert store.find(ChangeFilter(limit=1)) == [two]
