"""The plan: which collectors this server offers to this login, with their SQL and row mappers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ase_exporter.catalogue.facts import Reason, ServerFacts
from ase_exporter.catalogue.load import Catalogue
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.row_mapper import READ_AT, OnUnreadable, RowMapper, is_narrow
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.columns import Row, column_names
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.families import Family
from ase_exporter.untrusted.encoders import sql_literal

# Where a select over all databases takes more names that it leaves out: `not in ('model'{left_out})`.
LEFT_OUT = "{left_out}"
_BIGINT = parse_version("15.0")
DEFAULT_TOP = 20


@dataclass(frozen=True, slots=True)
class PlannedCollector:
    """A collector on this server.

    reason and detail (one line): why it is not available; `gaps` knows the SQL that fixes it.
    interval: seconds between readings, 0 for every scrape.
    select: whose rows `families` takes; without parameters, but for LEFT_OUT.
    columns: the names that its result must have, in lower case; empty if the catalogue does not know them, as of
    procedures and custom statements.
    """

    name: str
    interval: float = 0
    reason: Reason = ""
    detail: str = ""
    select: str = ""
    mapper: RowMapper | None = None
    columns: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether it can be read."""
        return self.mapper is not None

    @property
    def lists_databases(self) -> bool:
        """Whether it can leave databases out."""
        return LEFT_OUT in self.select

    @property
    def statement(self) -> str:
        """What is sent as long as no database is to be left out."""
        return self.statement_without(())

    def statement_without(self, databases: Iterable[str]) -> str:
        """What is sent to leave these databases out."""
        return self.select.replace(LEFT_OUT, "".join(f", {sql_literal(name)}" for name in databases))

    def mismatch(self, result: Sequence[Row]) -> str:
        """How the columns of a result differ from those that were asked for; '' if they do not."""
        found = tuple([name.lower() for name in column_names(result)])
        if not found or not self.columns or found == self.columns:
            return ""
        return f"{self.name}: columns {', '.join(found)} instead of {', '.join(self.columns)}"

    def families(
        self,
        rows: Sequence[Row],
        counters: CounterStore,
        now: float,
        on_unreadable: OnUnreadable | None = None,
    ) -> list[Family]:
        """The families of one reading, as `RowMapper.families` makes them."""
        if self.mapper is None:
            raise ValueError(f"collector {self.name} is not available: {self.detail}")
        return self.mapper.families(rows, counters, now, on_unreadable)


def plan(
    catalogue: Catalogue,
    facts: ServerFacts,
    selection: Mapping[str, bool] | None = None,
    top: int = DEFAULT_TOP,
) -> list[PlannedCollector]:
    """The collectors that are enabled, in reading order, available or with the reason why not.

    Collectors of the other edition are left out. selection: collector -> enabled, overrides the catalogue's
    defaults. top: how many rows get series of their own if a collector ranks its rows.
    """
    return [
        _plan_one(name, collector, facts, top, names_known=name not in catalogue.custom)
        for name, collector in catalogue.chosen(selection, facts.cluster).items()
    ]


def lacks_version(collector: Collector, facts: ServerFacts) -> bool:
    """Whether the server is too old for the collector."""
    return facts.version < parse_version(collector.since)


def _plan_one(
    name: str, collector: Collector, facts: ServerFacts, top: int, *, names_known: bool
) -> PlannedCollector:
    reason, detail = _obstacle(collector, facts)
    if reason:
        return PlannedCollector(name, collector.interval, reason, detail)
    columns = _columns(collector, facts)
    if not columns:
        return PlannedCollector(
            name, collector.interval, "columns_missing", f"{collector.table} has none of the columns read"
        )
    # The server sums the rows, but not if a counter may wrap, as sums of wrapped values cannot be unwrapped.
    summed = _sources(collector) & columns.keys()
    grouped = collector.grouped and not any(is_narrow(columns[column]) for column in summed)
    if grouped:
        kept = _sources(collector) | {label.column for label in collector.labels.values()} | {"InstanceID"}
        columns = {column: kind for column, kind in columns.items() if column in kept}
    mapper = RowMapper(name, collector, columns, facts, top, grouped=grouped)
    select = _select(collector, columns, facts, grouped=grouped)
    known = collector.table is not None or (names_known and select.startswith("select "))
    names = tuple(map(str.lower, columns)) if known else ()
    return PlannedCollector(name, collector.interval, select=select, mapper=mapper, columns=names)


def _obstacle(collector: Collector, facts: ServerFacts) -> tuple[Reason, str]:
    """Why the collector is not available, as reason and detail; '' if it is."""
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
    """The columns to select, in order, with their types; empty if no metric would be left."""
    if collector.table is None:
        return dict(collector.columns)
    types = {column.lower(): kind for column, kind in facts.tables[collector.table].items()}
    present = [
        column
        for column in collector.all_columns()
        # Elsewhere than in a cluster, the number of the instance tells no rows apart.
        if column.lower() in types and (facts.cluster or collector.grouped or column != "InstanceID")
    ]
    sources = [
        source
        for metric in collector.metrics.values()
        for source in metric.for_columns(present).sources().values()
    ]
    if sources and not any(source in present for source in sources):
        return {}
    unused = {source for metric in collector.metrics.values() for source in metric.all_sources()} - {
        *sources,
        *collector.top,
    }
    chosen = {column: types[column.lower()] for column in present if column not in unused}
    return chosen | {READ_AT: "datetime"} if collector.epoch else chosen


def _sources(collector: Collector) -> set[str]:
    return {source for metric in collector.metrics.values() for source in metric.all_sources()}


def _select(collector: Collector, columns: Mapping[str, str], facts: ServerFacts, *, grouped: bool) -> str:
    if collector.table is None:
        sql = collector.sql or ""
        for version, parts in collector.before.items():
            for part, older in parts.items() if facts.version < parse_version(version) else ():
                sql = sql.replace(part, older)
        return " ".join(sql.split())
    # Manuals and tools disagree on the case of some names, and a case-sensitive server accepts only its own.
    spelled = {column.lower(): column for column in facts.tables[collector.table]}
    knows_bigint = facts.version >= _BIGINT
    summed = _sources(collector) if grouped else set()
    cells, keys = [], []
    for column, kind in columns.items():
        if column == READ_AT:
            cells.append(f"{READ_AT} = getdate()")
            continue
        name = spelled[column.lower()]
        if column in summed:
            cells.append(f"{name} = sum(convert({'bigint' if knows_bigint else 'numeric(20,0)'}, {name}))")
        elif kind.startswith("unsigned int") and knows_bigint:
            # pyodbc returns unsigned int columns as signed.
            cells.append(f"{name} = convert(bigint, {name})")
        else:
            cells.append(name)
            keys.append(name)
    where = f" where {collector.where}" if collector.where else ""
    group = f" group by {', '.join(keys)}" if grouped else ""
    return f"select {', '.join(cells)} from master..{collector.table}{where}{group}"
