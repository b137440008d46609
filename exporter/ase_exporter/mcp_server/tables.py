"""The tools objects and space: tables of a report on one server, over any window."""

from types import SimpleNamespace

from ase_exporter.analysis.profile import ProfileReader
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import FoundRows
from ase_exporter.mcp_server.overview import window
from ase_exporter.mcp_server.sources import Sources, certainty
from ase_exporter.rules.intervals import SHIPPED_INTERVAL


def objects(sources: Sources, arguments: inputs.Window) -> FoundRows:
    """The tables that were read most over a window, by logical reads. Needs the collector objects, which is opt-in."""
    return _table(sources, arguments, "objects")


def space(sources: Sources, arguments: inputs.Window) -> FoundRows:
    """How full data, logs and temporary databases were at the end of a window, the fullest first."""
    return _table(sources, arguments, "space")


def _table(sources: Sources, arguments: inputs.Window, name: str) -> FoundRows:
    selector, span = window(sources, arguments)
    with sources.connect() as prometheus:
        found = ProfileReader(prometheus, selector, span, SHIPPED_INTERVAL).table(name)
        sure = certainty(prometheus, selector, span)
    return FoundRows.of(
        server=arguments.server,
        window=span,
        what=found.what,
        unit=found.unit,
        rows=[SimpleNamespace(name=row, value=value) for row, value in found.rows],
        not_known=found.reason,
        certainty=sure,
    )
