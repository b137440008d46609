"""The lines of a report's charts."""

import numpy as np

from ase_exporter.report.charts import isolated

NONE = np.nan


def test_a_value_without_a_neighbour_is_found_because_no_line_shows_it() -> None:
    values = np.array([1.0, NONE, 2.0, 3.0, NONE, 4.0, NONE])
    assert isolated(values).nonzero()[0].tolist() == [0, 5]
    assert isolated(np.array([7.0])).tolist() == [True]
    assert not isolated(np.array([NONE, NONE])).any()
