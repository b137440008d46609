"""The plan: what of the catalogue this server can give to this login, as SQL and readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.labels import Row
from ase_exporter.catalogue.load import Catalogue
from ase_exporter.catalogue.messages import Reason
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.reader import Reader
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.counters import CounterStore
from ase_exporter.families import Family
from ase_exporter.table import Table

_BIGINT = parse_version("15.0")
DEFAULT_TOP = 20


@dataclass(frozen=True, slots=True)
class PlannedCollector:
    """A collector as this server allows it.

    available: it can be read; else reason and detail (one line) say why not, and `gaps` knows what mends it.
    interval: seconds between readings, 0 = in every scrape.
    statements: one select per result that `families` takes, without parameters.
    """

    name: str
    interval: float = 0
    reason: Reason = ""
    detail: str = ""
    statements: tuple[str, ...] = ()
    reader: Reader | None = None

    @property
    def available(self) -> bool:
        """Whether it can be read."""
        return self.reader is not None

    @property
    def many(self) -> bool:
        """Whether many rows are best read as a Table."""
        return self.reader is not None and self.reader.gives_a_series_a_row

    def families(
        self, results: Sequence[Table | Sequence[Row]], counters: CounterStore, now: float
    ) -> list[Family]:
        """Families of one reading. results: rows per statement, in select order. now: seconds."""
        if self.reader is None:
            raise ValueError(f"collector {self.name} is not available: {self.detail}")
        return self.reader.families(results[0], counters, now)


def plan(
    catalogue: Catalogue,
    facts: ServerFacts,
    selection: Mapping[str, bool] | None = None,
    top: int = DEFAULT_TOP,
) -> list[PlannedCollector]:
    """The collectors that are on, in reading order, each available or with the reason why not.

    Those of the other edition are no part of it.

    selection: collector name -> on or off, against the catalogue's defaults.
    top: how many rows get series of their own where a collector is ranked.
    """
    return [
        _plan_one(name, collector, facts, top)
        for name, collector in catalogue.collectors.items()
        if is_chosen(name, collector, selection) and not is_of_other_edition(collector, facts)
    ]


def is_chosen(name: str, collector: Collector, selection: Mapping[str, bool] | None) -> bool:
    """Whether a collector is on."""
    return (selection or {}).get(name, collector.default)


def is_of_other_edition(collector: Collector, facts: ServerFacts) -> bool:
    """Whether only the other edition (smp or cluster) can ever have it."""
    return collector.edition is not None and (collector.edition == "cluster") != facts.cluster


def lacks_version(collector: Collector, facts: ServerFacts) -> bool:
    """Whether the server is older than what the collector reads."""
    return facts.version < parse_version(collector.since)


def _plan_one(name: str, collector: Collector, facts: ServerFacts, top: int) -> PlannedCollector:
    reason, detail = _obstacle(collector, facts)
    if reason:
        return PlannedCollector(name, collector.interval, reason, detail)
    columns = _columns(collector, facts)
    if not columns:
        return PlannedCollector(
            name, collector.interval, "columns_missing", f"{collector.table} has none of the columns read"
        )
    reader = Reader(name, collector, columns, facts, top)
    return PlannedCollector(
        name, collector.interval, statements=(_select(collector, columns, facts),), reader=reader
    )


def _obstacle(collector: Collector, facts: ServerFacts) -> tuple[Reason, str]:
    """Reason and detail; '' where nothing is in the way."""
    if lacks_version(collector, facts):
        return "version", f"needs ASE {collector.since}, this is {facts.version}"
    missing = [role for role in collector.roles if role not in facts.roles]
    if missing:
        return "no_role", f"the login lacks {', '.join(missing)}"
    if collector.table and not facts.tables:
        return facts.tables_reason or "table_missing", "master..monTableColumns gives no rows"
    if collector.table and collector.table not in facts.tables:
        return "table_missing", f"this server has no {collector.table}"
    off = [option for option in collector.options if facts.options.get(option) == 0]
    if off:
        return "switched_off", f"configuration option off: {', '.join(off)}"
    return "", ""


def _columns(collector: Collector, facts: ServerFacts) -> dict[str, str]:
    """Columns to select, in order, with their types; empty where no metric would be left."""
    if collector.table is None:
        return dict(collector.columns)
    types = {column.lower(): kind for column, kind in facts.tables[collector.table].items()}
    present = [column for column in collector.all_columns() if column.lower() in types]
    sources = [
        source
        for metric in collector.metrics.values()
        for source in metric.for_columns(present).sources().values()
    ]
    if sources and not any(source in present for source in sources):
        return {}
    unused = {source for metric in collector.metrics.values() for source in metric.all_sources()} - {
        *sources,
        *(collector.top.by if collector.top else ()),
    }
    return {column: types[column.lower()] for column in present if column not in unused}


def _select(collector: Collector, columns: Mapping[str, str], facts: ServerFacts) -> str:
    if collector.table is None:
        return " ".join((collector.sql or "").split())
    # Manuals and tools disagree on the case of some names; a server may insist on its own.
    spelled = {column.lower(): column for column in facts.tables[collector.table]}
    cells = []
    for column, kind in columns.items():
        name = spelled[column.lower()]
        # pyodbc gives unsigned int columns back as if they were signed.
        converted = kind.startswith("unsigned int") and facts.version >= _BIGINT
        cells.append(f"{name} = convert(bigint, {name})" if converted else name)
    where = f" where {collector.where}" if collector.where else ""
    return f"select {', '.join(cells)} from master..{collector.table}{where}"
