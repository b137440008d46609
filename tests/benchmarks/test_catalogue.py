"""How long it takes to turn many rows into families, counters included."""

import time
from statistics import median

from pydantic import TypeAdapter

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.exposition import render_text

COLUMNS = [f"C{number}" for number in range(6)]


def test_ten_thousand_rows_of_six_counters() -> None:
    for kind in ("bigint", "int"):
        collector = TypeAdapter(Collector).validate_python(
            {
                "help": "A large table.",
                "table": "monX",
                "labels": {"name": "Name", "slot": "Slot"},
                "metrics": {
                    f"ase_x{column.lower()}_total": {"help": "Counted.", "column": column}
                    for column in COLUMNS
                },
            }
        )
        types = {"Name": "varchar", "Slot": "int", **dict.fromkeys(COLUMNS, kind)}
        reader = RowMapper("x", collector, types, ServerFacts(parse_version("16.0")), 20)
        store = CounterStore()
        took, rendered = [], []
        for reading in range(12):
            rows = [(f"spinlock {row % 300}", row, *[row + reading * 7] * 6) for row in range(10_000)]
            started = time.process_time()
            families = reader.families(rows, store, reading * 15.0)
            took.append(time.process_time() - started)
            started = time.process_time()
            text = render_text(families)
            rendered.append(time.process_time() - started)
        assert text.count("\n") == 60_000 + 12
        print(
            f"\n10,000 rows x 6 {kind} counters: families {median(took) * 1000:.1f} ms of CPU, "
            f"text {median(rendered) * 1000:.1f} ms"
        )
