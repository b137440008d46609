"""The series limit is kept, costs the largest collectors, and is reported."""

from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.metrics.families import Family
from ase_exporter.metrics.series_limits import limit_series


def family(name: str, size: int) -> Family:
    return Family(name, "gauge", "", ("row",), [((f"{row:04}",), row) for row in range(size)])


def test_the_largest_collector_pays() -> None:
    groups = {"small": [family("ase_a", 10)], "large": [family("ase_b", 100), family("ase_c", 3)]}
    *kept, cut = limit_series(groups, 50)
    assert [len(each.samples) for each in kept] == [10, 37, 3]
    assert cut.name == "ase_exporter_series_cut"
    assert cut.samples == [(("large",), 63)]


def test_the_same_series_stay_whatever_order_rows_come_in() -> None:
    one = family("ase_a", 10)
    other = Family("ase_a", "gauge", "", ("row",), list(one.samples)[::-1])
    assert limit_series({"a": [one]}, 4)[0].samples == limit_series({"a": [other]}, 4)[0].samples


@given(st.lists(st.lists(st.integers(0, 50), max_size=4), max_size=6), st.integers(0, 200))
def test_the_limit_holds_and_what_is_cut_adds_up(sizes: list[list[int]], limit: int) -> None:
    groups = {
        f"c{at}": [family(f"ase_{at}_{number}", size) for number, size in enumerate(group)]
        for at, group in enumerate(sizes)
    }
    made = limit_series(groups, limit)
    whole = sum(map(sum, sizes))
    cut = sum(count for each in made if each.name == "ase_exporter_series_cut" for _, count in each.samples)
    kept = sum(len(each.samples) for each in made if each.name != "ase_exporter_series_cut")
    assert kept == whole - cut
    assert kept <= limit or (cut == 0 and whole <= limit)
