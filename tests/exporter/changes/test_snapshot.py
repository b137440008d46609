"""What counts as a change, and what does not."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exporter.host.kernels import pool, thp, write_files

from ase_exporter.assets import load_yaml
from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.changes.snapshot import (
    MAX_DECODED,
    Difference,
    Part,
    Setting,
    compare,
    decode,
    encode,
    merge,
    shorten,
)

CASES: dict[str, Any] = load_yaml(Path(__file__).with_name("snapshots.yaml").read_text(encoding="utf-8"))


def snapshot_of(source: str = "s", **kinds: dict[str, dict[str, list[str]]]) -> dict[str, Part]:
    """Parts of that source, as in the file of cases."""
    return {
        kind: Part(
            kind,
            source,
            {
                name: {attribute: Setting(*values) for attribute, values in attributes.items()}
                for name, attributes in objects.items()
            },
        )
        for kind, objects in kinds.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_changes_between_two_snapshots(name: str) -> None:
    case = CASES[name]
    before, after = snapshot_of(**case["before"]), snapshot_of(**case["after"])
    assert compare(before, after) == [Difference(*change) for change in case["changes"]]


def test_a_comparison_takes_time_in_proportion_to_what_has_changed() -> None:
    """It runs where the scrapes of all targets are answered."""

    compared = 0

    class Kind(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [{f"{word} {number}": {"": Setting("")} for number in range(300)} for word in ("old", "new")]
    old, new = ({"engine": Part(Kind("engine"), "s", each)} for each in names)
    assert len(compare(old, new)) == 600
    assert compared < 10 * 600


def test_what_could_not_be_read_for_a_while_is_compared_with_what_was_known() -> None:
    known = snapshot_of(option={"a": {"": ["1"]}}, cache={"orders": {"size": ["1 MB"]}})
    merged = merge(known, snapshot_of(option={"a": {"": ["1"]}}))
    assert merged["cache"] == known["cache"]
    assert compare(merged, snapshot_of(cache={"orders": {"size": ["2 MB"]}})) == [
        Difference("cache", "orders: size", "1 MB", "2 MB")
    ]


def test_a_fallback_source_is_not_compared_with_the_first() -> None:
    assert compare(snapshot_of(cache={"orders": {}}), snapshot_of("monDataCache", cache={"other": {}})) == []


def test_bindings_of_a_dropped_database_are_forgotten() -> None:
    def parts_with(*databases: str) -> dict[str, Part]:
        parts = {f"binding:{name}": Part("binding", "s", {}) for name in databases}
        return parts | snapshot_of(database={name: {"": ["exists"]} for name in databases})

    assert set(merge(parts_with("a", "b"), parts_with("b"))) == {"binding:b", "database"}


def test_settings_of_a_host_are_found_once_each(tmp_path: Path) -> None:
    def parts_with(mode: str, pages: int) -> Mapping[str, Part]:
        procfs, sysfs = write_files(tmp_path, {**thp(mode), **pool(2048, pages, 0)})
        return HostWatcher(procfs, sysfs).parts()

    assert compare(parts_with("always", 5), parts_with("never", 8)) == [
        Difference("hugepages", "nr_hugepages 2048kB", "5", "8"),
        Difference("thp", "enabled", "always", "never"),
    ]


def test_text_that_is_no_snapshot_is_told_apart() -> None:
    bomb, deep = zlib.compress(b" " * (MAX_DECODED + 1)), zlib.compress(b"[" * 200_000)
    for data in (b"", b"not zlib", encode({})[:-3], bomb, deep, zlib.compress(b'{"a":' * 100_000)):
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
