"""Verdicts of `top` and `report` judge as the alerts do."""

import numpy as np
import pytest

from ase_exporter.report.verdict import state
from ase_exporter.rules import thresholds
from ase_exporter.rules.parameters import parameters


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("cpu.spinning_warning", thresholds.SPINNING_WARNING),
        ("cpu.spinning_critical", thresholds.SPINNING_CRITICAL),
        ("cpu.saturated", thresholds.SATURATED),
        ("locks.blocked_warning", thresholds.BLOCKED),
    ],
)
def test_thresholds_are_those_of_the_alerts(parameter: str, value: float) -> None:
    assert float(parameters()[parameter]) == value


def test_a_report_judges_spinning_as_the_alert_does() -> None:
    warning, critical = (float(parameters()[f"cpu.spinning_{name}"]) for name in ("warning", "critical"))
    assert state(np.nextafter(warning, 0), []) == "good"
    assert state(warning, []) == "warn"
    assert state(np.nextafter(critical, 0), []) == "warn"
    assert state(critical, []) == "bad"
