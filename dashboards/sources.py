"""What a panel says of its unit, its sources and missing data, from what its queries read: the catalogue knows it."""

import re
from functools import cache

from dashboards.coverage import names
from dashboards.queries import Queries, several

from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.model import Collector

NO_SERVER = "Not collected: no such server is scraped"
# What the machine's metrics need, by how their names begin.
MACHINES = {
    "dbhost_perf": "Not counted: perf is off, not allowed (perf_event_paranoid), or the CPU (a VM?) has no such event",
    "dbhost_process": "No database process was found on the machine (`host: processes:`)",
    "dbhost_": "Not collected: no exporter with `host:` runs on the machine",
}
# Of more columns the table alone is named.
MOST_COLUMNS = 3
# Units of Grafana by how a metric's name ends; a rate of seconds is a number of tasks.
_UNITS = {
    "_seconds_total": "short",
    "_bytes_total": "Bps",
    "_total": "count:/s",
    "_seconds:rate1m": "short",
    ":ratio_rate1m": "percentunit",
    ":rate1m": "count:/s",
    "_bytes": "bytes",
    "_seconds": "s",
    ":seconds": "s",
    ":seconds_rate1m": "s",
    "_ratio": "percentunit",
    "_bytes_per_second": "Bps",
    "_per_second": "count:/s",
}
# One metric, whatever it is summed by.
_ONE = re.compile(
    r"(?:\w+(?: by \([^)]*\) ?)?\((?:\d+, )?)*(?P<metric>(?:ase|dbhost)[_:][\w:]+)\{[^}]*\}[^/*+-]*$"
)
_TABLE = re.compile(r"\b(?:from|join|exec) (?:\w+\.\.)?(\w+)")


def unit_of(queries: Queries) -> str:
    """The unit of the first query: its own, or, if it shows one metric, by the metric's name."""
    if unit := several(queries)[0].unit:
        return unit
    if not (found := _ONE.match(several(queries)[0].expr)):
        return "short"
    return next((unit for end, unit in _UNITS.items() if found["metric"].endswith(end)), "none")


def described(text: str, queries: Queries) -> str:
    """A description with its sources, unless it names them itself."""
    if "Source" in text:
        return text
    return f"{text} Source: {'; '.join(_sources(_read(queries)))}."


def reason(queries: Queries) -> str:
    """Why a panel may be without data."""
    read = _read(queries)
    if found := next((text for prefix, text in MACHINES.items() if _starts(read, prefix)), ""):
        return found
    if not (collectors := {name: each for name, each in _collectors().items() if read & each.metrics.keys()}):
        return NO_SERVER
    needs = dict.fromkeys(need for each in collectors.values() for need in _needs(each))
    lacking = f", or the server lacks {' or '.join(needs)}" if needs else ""
    return f"Not collected (yet): {' or '.join(collectors)} is off{lacking}"


def _needs(collector: Collector) -> list[str]:
    version = [] if collector.since.startswith("12.5.0") else [f"version {collector.since}"]
    return [*collector.roles, *(f"`{option}`" for option in collector.options), *version]


def _sources(read: frozenset[str]) -> list[str]:
    """Tables with the columns of the metrics; for what no collector reads, the metrics."""
    tables: dict[str, dict[str, None]] = {}
    for collector in _collectors().values():
        table = collector.table or ", ".join(dict.fromkeys(_TABLE.findall(collector.sql or "")))
        for name in collector.metrics.keys() & read:
            columns = collector.metrics[name].all_sources() if collector.table else []
            tables.setdefault(table, {}).update(dict.fromkeys(columns))
    known = {name for each in _collectors().values() for name in each.metrics}
    own = sorted(name for name in read - known if ":" not in name)
    texts = [
        f"{table}.{', '.join(sorted(columns))}" if 0 < len(columns) <= MOST_COLUMNS else table
        for table, columns in sorted(tables.items())
    ]
    return texts or own


def _starts(read: frozenset[str], prefix: str) -> bool:
    return any(name.startswith(prefix) for name in read)


def _read(queries: Queries) -> frozenset[str]:
    return frozenset(names([query.expr for query in several(queries)]))


@cache
def _collectors() -> dict[str, Collector]:
    return load_catalogue()[0].collectors
