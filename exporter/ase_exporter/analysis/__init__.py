"""Measures, changes and comparisons for notebooks and scripts, from Prometheus.

Results are numpy arrays (`TimeSeries`, and `Table`, a dict of columns), of which pandas makes DataFrames. Definitions
are those of `ase-exporter compare`, `advise` and the recording rules. Every error is a UserError.
"""

from ase_exporter.analysis.measuring import Moment as Moment
from ase_exporter.analysis.measuring import Table as Table
from ase_exporter.analysis.measuring import TimeSeries as TimeSeries
from ase_exporter.analysis.measuring import advise as advise
from ase_exporter.analysis.measuring import changes as changes
from ase_exporter.analysis.measuring import compare as compare
from ase_exporter.analysis.measuring import contention as contention
from ase_exporter.analysis.measuring import differences as differences
from ase_exporter.analysis.measuring import marks as marks
from ase_exporter.analysis.measuring import measure as measure
from ase_exporter.analysis.measuring import moment as moment
from ase_exporter.analysis.measuring import windows as windows
from ase_exporter.compare.prometheus import Prometheus as Prometheus
from ase_exporter.errors import UserError as UserError
