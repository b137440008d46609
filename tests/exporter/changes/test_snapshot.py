"""What counts as a change, and what does not."""

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exporter.host.kernels import pool, thp, write_files

from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.changes.snapshot import (
    MAX_DECODED,
    Difference,
    Part,
    Parts,
    Setting,
    compare,
    decode,
    encode,
    merge,
    shorten,
)


def options(**values: tuple[str, str | None]) -> dict[str, Part]:
    objects = {name.replace("_", " "): {"": Setting(*value)} for name, value in values.items()}
    return {"option": Part("option", "sysconfigures", objects)}


def caches(source: str = "syscacheinfo", **attributes: dict[str, Setting]) -> dict[str, Part]:
    objects = {name.replace("_", " "): value for name, value in attributes.items()}
    return {"cache": Part("cache", source, objects)}


def test_a_dynamic_option_is_one_change() -> None:
    before, after = options(number_of_locks=("5000", "5000")), options(number_of_locks=("9000", "9000"))
    assert compare(before, after) == [Difference("option", "number of locks", "5000", "9000")]


def test_a_static_option_changes_when_set_and_when_it_takes_effect() -> None:
    start = options(lock_spinlock_ratio=("85", "85"))
    pending = options(lock_spinlock_ratio=("20", "85"))
    effective = options(lock_spinlock_ratio=("20", "20"))
    assert compare(start, pending) == [Difference("option", "lock spinlock ratio", "85", "20")]
    assert compare(pending, effective) == [
        Difference("option", "lock spinlock ratio (run value)", "85", "20")
    ]


def test_a_run_value_that_moves_by_itself_is_no_change() -> None:
    before = options(kernel_resource_memory=("4096", "4200"))
    assert compare(before, options(kernel_resource_memory=("4096", "4711"))) == []


def test_options_that_come_with_a_version_are_no_changes() -> None:
    assert compare(options(a=("1", "1")), options(a=("1", "1"), b=("1", "1"))) == []


def test_a_cache_that_is_made_or_dropped_is_one_change() -> None:
    cache = {"size": Setting("100 MB", "100 MB"), "partitions": Setting("8", "8")}
    none, one = caches(), caches(orders=cache)
    assert compare(none, one) == [Difference("cache", "orders", "", "partitions 8, size 100 MB")]
    assert compare(one, none) == [Difference("cache", "orders", "partitions 8, size 100 MB", "")]


def test_a_new_pool_in_a_cache_is_a_change_of_that_cache() -> None:
    before = caches(orders={"size": Setting("100 MB", "100 MB")})
    after = caches(orders={"size": Setting("100 MB", "100 MB"), "16K pool size": Setting("10 MB", "10 MB")})
    assert compare(before, after) == [Difference("cache", "orders: 16K pool size", "", "10 MB")]


def test_the_wash_area_that_follows_a_new_size_is_not_reported_besides_it() -> None:
    def pool(size: str, wash: str) -> dict[str, Part]:
        return caches(orders={"16K pool size": Setting(size), "16K pool wash": Setting(wash)})

    assert compare(pool("10 MB", "2048 KB"), pool("20 MB", "4096 KB")) == [
        Difference("cache", "orders: 16K pool size", "10 MB", "20 MB")
    ]
    assert compare(pool("10 MB", "2048 KB"), pool("10 MB", "4096 KB")) == [
        Difference("cache", "orders: 16K pool wash", "2048 KB", "4096 KB")
    ]


def test_what_cannot_be_read_for_a_while_has_not_changed() -> None:
    known = options(a=("1", "1")) | caches(orders={"size": Setting("1 MB")})
    merged = merge(known, options(a=("1", "1")))
    assert compare(known, options(a=("1", "1"))) == []
    assert merged["cache"] == known["cache"]
    assert compare(merged, caches(orders={"size": Setting("2 MB")})) == [
        Difference("cache", "orders: size", "1 MB", "2 MB")
    ]


def test_a_fallback_source_is_not_compared_with_the_first() -> None:
    assert compare(caches(orders={}), caches("monDataCache", other={})) == []


def test_bindings_of_a_dropped_database_are_forgotten() -> None:
    def parts_with(*databases: str) -> dict[str, Part]:
        parts = {f"binding:{name}": Part("binding", "s", {}) for name in databases}
        names = {name: {"": Setting("exists")} for name in databases}
        return {**parts, "database": Part("database", "s", names)}

    assert set(merge(parts_with("a", "b"), parts_with("b"))) == {"binding:b", "database"}


def test_a_restart_is_not_also_a_clearing_of_counters() -> None:
    def parts_with(boot: str, cleared: str) -> Parts:
        return {
            "restart": Part("restart", "s", {"server": {"": Setting(boot)}}),
            "counters_cleared": Part("counters_cleared", "s", {"server": {"": Setting(cleared)}}),
        }

    assert compare(parts_with("1", "1"), parts_with("2", "2")) == [Difference("restart", "server", "1", "2")]
    assert compare(parts_with("1", "1"), parts_with("1", "3")) == [
        Difference("counters_cleared", "server", "1", "3")
    ]


def test_engines_and_the_size_of_their_thread_pool_are_told_once() -> None:
    def parts_with(count: int) -> Parts:
        engines = {f"engine {number}": {"": Setting("online")} for number in range(count)}
        pool = {"syb_default_pool": {"size": Setting(str(count))}}
        return {"engine": Part("engine", "s", engines), "thread_pool": Part("thread_pool", "s", pool)}

    for count in (5, 8):
        assert compare(parts_with(4), parts_with(count)) == [
            Difference("thread_pool", "syb_default_pool: size", "4", str(count))
        ]


def test_settings_of_a_host_are_found_once_each(tmp_path: Path) -> None:
    def parts_with(mode: str, pages: int) -> Parts:
        procfs, sysfs = write_files(tmp_path, {**thp(mode), **pool(2048, pages, 0)})
        return HostWatcher(procfs, sysfs).parts()

    assert compare(parts_with("always", 5), parts_with("never", 8)) == [
        Difference("hugepages", "nr_hugepages 2048kB", "5", "8"),
        Difference("thp", "enabled", "always", "never"),
    ]


def test_text_that_is_no_snapshot_is_told_apart() -> None:
    bomb, deep = zlib.compress(b" " * (MAX_DECODED + 1)), zlib.compress(b"[" * 200_000)
    for data in (b"", b"not zlib", encode(options())[:-3], bomb, deep, zlib.compress(b'{"a":' * 100_000)):
        with pytest.raises(ValueError):
            decode(data)


def test_values_are_one_short_line() -> None:
    assert shorten("a\n  b\x1b[31m\u202e") == r"a b\x1b[31m\u202e"
    assert shorten("x" * 300, 80) == "x" * 79 + "…"


settings = st.builds(Setting, st.text(max_size=5), st.none() | st.text(max_size=5))
parts = st.builds(
    Part,
    st.sampled_from(["option", "cache", "binding"]),
    st.just("s"),
    st.dictionaries(st.text(max_size=5), st.dictionaries(st.text(max_size=5), settings, max_size=3)),
)
snapshots = st.dictionaries(st.sampled_from(["option", "cache", "binding:a"]), parts)


@given(snapshots)
def test_a_snapshot_survives_encoding_and_differs_in_nothing_from_itself(snapshot: dict[str, Part]) -> None:
    assert decode(encode(snapshot)) == snapshot
    assert compare(snapshot, decode(encode(snapshot))) == []
