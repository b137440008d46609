"""The final comparison of the demo."""

import io

from rich.console import Console

from ase_exporter.demo.replay import published
from ase_exporter.demo.view import comparison


def test_missing_runs_are_listed_in_one_line() -> None:
    first, *others = published()
    text = io.StringIO()
    Console(file=text, width=300).print(comparison({first: published()[first]}, published()))
    shown = text.getvalue()
    assert f"not measured long enough: {', '.join(others)}" in " ".join(shown.split())
    assert "85.8 % (85.8 %)" in shown
