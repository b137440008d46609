"""A comparison on terminals of any width: nobody needs a wide one to read the figures."""

from ase_exporter.compare.report import MEDIAN, NO_DATA, Grid, _fitting

HEADER = (
    "Measure",
    "before",
    "after",
    f"before{MEDIAN}",
    f"after{MEDIAN}",
    "difference [interval]",
    "at like load",
)
ROW = (
    "Transactions per second",
    "108,326.0",
    "246,648.6",
    "112,680.1 ± 91.4",
    "246,680.2 ± 197.5",
    "+133,989.0",
    NO_DATA,
)


def test_a_wide_terminal_shows_all_that_says_something() -> None:
    assert _fitting(Grid("", HEADER, (ROW,)), 200).header == HEADER[:-1]


def test_a_narrow_one_does_without_the_medians() -> None:
    grid = _fitting(Grid("", HEADER, (ROW,)), 80)
    assert grid.header == ("Measure", "before", "after", "difference [interval]")
    assert grid.rows == (("Transactions per second", "108,326.0", "246,648.6", "+133,989.0"),)


def test_a_column_that_says_something_of_one_row_stays() -> None:
    other = (*ROW[:-1], "+2.0")
    assert _fitting(Grid("", HEADER, (ROW, other)), 80).header[-1] == "at like load"


def test_a_comparison_without_rows_has_its_heading() -> None:
    assert _fitting(Grid("", HEADER, ()), 80).rows == ()
