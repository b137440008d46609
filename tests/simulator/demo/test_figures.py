"""The part of a run over which the demo measures."""

import pytest

from ase_simulator.demo.figures import steady
from ase_simulator.demo.scaling import Pace

PACE = Pace(speed=10, scrape_interval=3)


@pytest.mark.parametrize(
    ("seconds", "span"),
    [
        (60.0, (118.0, 157.0)),
        # Four scrapes of the rules' windows, two before they are evaluated, one at the end, and one between.
        (24.0, (118.0, 121.0)),
        (23.9, None),
        (0.0, None),
    ],
)
def test_windows_of_rules_reach_into_no_other_run(seconds: float, span: tuple[float, float] | None) -> None:
    assert steady(100.0, 100.0 + seconds, PACE) == span
