"""The final comparison of the demo."""

import io
import re

from rich.console import Console

from ase_exporter.demo.replay import published
from ase_exporter.demo.view import comparison


def test_missing_runs_are_listed_in_one_line() -> None:
    first, *others = published()
    text = io.StringIO()
    Console(file=text, width=300).print(comparison({first: published()[first]}, published()))
    shown = text.getvalue()
    assert f"not measured long enough: {', '.join(others)}" in " ".join(shown.split())
    assert "85.8 %" in shown
    assert "(85.8 %)" in shown


def test_a_terminal_of_80_columns_cuts_nothing() -> None:
    text = io.StringIO()
    Console(file=text, width=80).print(comparison(published(), published()))
    rows = [line.strip("│┃\n").replace("┃", "│").split("│") for line in text.getvalue().splitlines()]
    columns = [
        " ".join(" ".join(cells).split()) for cells in zip(*(r for r in rows if len(r) == 6), strict=True)
    ]
    assert [re.split(r" (?=[-\d])", column)[0] for column in columns[1:]] == [
        "default data cache",
        "system tables cache",
        "log cache",
        "CPU busy",
        "transactions per CPU unit",
    ]
    for name, figures in published().items():
        assert name in columns[0]
        assert f"{figures.throughput:.1f} ({figures.throughput:.1f})" in columns[5]
