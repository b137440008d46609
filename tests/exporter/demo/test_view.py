"""The table at the demo's end."""

import io

from rich.console import Console

from ase_exporter.demo.replay import published
from ase_exporter.demo.view import comparison


def test_runs_that_were_not_reached_share_a_line() -> None:
    first, *others = published()
    text = io.StringIO()
    Console(file=text, width=300).print(comparison({first: published()[first]}, published()))
    shown = text.getvalue()
    assert f"not seen long enough: {', '.join(others)}" in " ".join(shown.split())
    assert "85.8 % (85.8 %)" in shown
