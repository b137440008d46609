"""A collector's table in every shape: how its rows become series."""

from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.row_mapper import RowMapper
from ase_exporter.catalogue.versions import parse_version

COLLECTOR = TypeAdapter(Collector)
SMP = ServerFacts(parse_version("16.0 SP04"), page_size=4096, utc_offset=timedelta(hours=2))
SHAPES: dict[str, dict[str, Any]] = {
    "a series a row": {"labels": {"name": "Name", "slot": "Slot"}},
    "rows that share series": {"labels": {"name": "Name"}, "key": ["Slot"]},
    "rows that nothing tells apart": {"labels": {"name": "Name"}},
    "no labels": {"key": ["Name", "Slot"]},
    "ranked": {"labels": {"name": "Name", "slot": "Slot"}, "top": {"by": ["Grabs", "Waits"]}},
}


def mapper(columns: dict[str, str], metrics: dict[str, Any], limit: int, shape: dict[str, Any]) -> RowMapper:
    collector = {"help": "A table.", "table": "monX", "metrics": metrics, **shape}
    return RowMapper("x", COLLECTOR.validate_python(collector), columns, SMP, limit)
