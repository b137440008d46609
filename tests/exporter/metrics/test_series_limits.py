"""The series limit is kept, costs nothing that alerts read, then the largest collectors, and is reported."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.metrics.families import Family
from ase_exporter.metrics.series_limits import limit_series

# As importance.csv says.
NEEDED, SHOWN = "ase_database_free_bytes", "ase_database_checkpoint_timestamp_seconds"


def family(name: str, size: int) -> Family:
    return Family(name, "gauge", "", ("row",), [((f"{row:04}",), row) for row in range(size)])


def sizes(families: list[Family]) -> dict[str, int]:
    return {each.name: len(each.samples) for each in families}


def test_what_alerts_read_is_never_cut_and_what_dashboards_show_is_cut_last() -> None:
    needed, shown, rest = family(NEEDED, 90), family(SHOWN, 40), family("ase_nobody_reads_it", 40)
    groups = {"databases": [rest, shown, needed], "others": [family("ase_custom", 2)]}

    def kept(limit: int) -> list[int]:
        found = sizes(limit_series(groups, limit))
        return [found.get(each.name, 0) for each in (needed, shown, rest)] + [found.get("ase_custom", 0)]

    assert kept(172) == [90, 40, 40, 2]
    assert kept(150) == [90, 40, 18, 2]
    assert kept(120) == [90, 30, 0, 0]
    # A fifth of the limit is for the others.
    assert kept(100) == [90, 20, 0, 0]
    assert kept(0) == [90, 0, 0, 0]


def test_the_same_series_stay_whatever_order_rows_come_in() -> None:
    one = family("ase_a", 10)
    other = Family("ase_a", "gauge", "", ("row",), list(one.samples)[::-1])
    assert limit_series({"a": [one]}, 4)[0].samples == limit_series({"a": [other]}, 4)[0].samples


FAMILIES = st.tuples(st.sampled_from([NEEDED, SHOWN, "ase_nobody_reads_it"]), st.integers(0, 50))


@given(st.lists(st.lists(FAMILIES, max_size=4), max_size=6), st.integers(0, 200))
def test_the_limit_holds_and_what_is_cut_adds_up(drawn: list[list[tuple[str, int]]], limit: int) -> None:
    groups = {f"c{at}": [family(name, size) for name, size in group] for at, group in enumerate(drawn)}
    made = limit_series(groups, limit)
    whole = Counter[str]()
    for name, size in (each for group in drawn for each in group):
        whole[name] += size
    cut = sum(count for each in made if each.name == "ase_exporter_series_cut" for _, count in each.samples)
    kept = Counter[str]()
    for each in made:
        kept[each.name] += len(each.samples)
    del kept["ase_exporter_series_cut"]
    assert kept.total() == whole.total() - cut
    assert kept[NEEDED] == whole[NEEDED]
    assert kept.total() <= max(limit, whole[NEEDED] + limit / 5) or cut == 0
    assert whole.total() > limit or cut == 0
