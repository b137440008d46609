"""A report judges spinning as the alerts do."""

import numpy as np

from ase_exporter.report.verdict import state
from ase_exporter.rules.parameters import parameters


def test_a_report_judges_spinning_as_the_alert_does() -> None:
    warning, critical = (float(parameters()[f"cpu.spinning_{name}"]) for name in ("warning", "critical"))
    assert state(np.nextafter(warning, 0), []) == "good"
    assert state(warning, []) == "warn"
    assert state(np.nextafter(critical, 0), []) == "warn"
    assert state(critical, []) == "bad"
