"""The policy that suits what a server shows of its dumps, and what Prometheus knows of the last weeks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from glob import escape

import yaml

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.config.changes import VerdictConfig
from ase_exporter.metrics.families import Family
from ase_exporter.rules.parameters import parameters

_HOUR = 3600
_INTERVALS = {"15m": 900, "30m": 1800} | {
    name: count * _HOUR
    for name, count in {"1h": 1, "2h": 2, "4h": 4, "6h": 6, "12h": 12, "1d": 24, "2d": 48, "7d": 168}.items()
}
# Jobs take their time and do not start to the second.
_LATE = 1.05
# What is dumped -> its longest interval of two weeks, by database.
_HISTORY = {
    "database": "ase:database_backup:timestamp_seconds{%s}"
    " - ase:database_backup:timestamp_seconds{%s} offset 1h > 3600",
    "log": "ase:database_log_dump:interval_seconds{%s}",
}

Intervals = Mapping[str, Mapping[str, float]]


def known_intervals(source: VerdictConfig | None, target: str) -> Intervals:
    """Seconds between dumps by what is dumped and database. Raises UserError if Prometheus fails."""
    if source is None:
        return {}
    selector = source.selector.replace("{target}", target)
    with Prometheus(source.prometheus, timeout=5.0) as prometheus:
        return {
            kind: {
                sample.labels.get("database", ""): sample.value
                for sample in prometheus.query(
                    f"max by (database) (max_over_time(({expr.replace('%s', selector)})[14d:1h]))"
                )
            }
            for kind, expr in _HISTORY.items()
        }


def proposed_policy(families: Iterable[Family], intervals: Intervals) -> str:
    """A policy as YAML; '' if nothing is to be said. families: of one scrape."""
    rows = {
        family.name: [dict(zip(family.labels, labels, strict=True)) for labels, _ in family.samples]
        for family in families
        # A server without the column of the names is not told apart.
        if "database" in family.labels
    }
    states = {row["database"]: row["state"] for row in rows.get("ase_database_state", ())}
    logged = {row["database"] for row in rows.get("ase_database_log_dump_timestamp_seconds", ())}
    never, quiet = parameters()["log.backup_exempt"], parameters()["log.backup_exempt_states"].split("|")
    grouped: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for database in sorted({row["database"] for row in rows.get("ase_database_backup_failed", ())}):
        if re.fullmatch(never, database):
            continue
        dumps = {
            kind: found
            for kind in ("database", "log")
            if (found := _interval(intervals.get(kind, {}).get(database)))
        }
        if states.get(database) in quiet:
            dumps = {"database": "never", "log": "never"}
        elif database not in logged:
            dumps["log"] = "never"
        grouped[tuple(dumps.items())].append(escape(database))
    entries = [{"databases": names, "dumps": dict(dumps)} for dumps, names in grouped.items() if dumps]
    return yaml.safe_dump({"policy": entries}, sort_keys=False, default_flow_style=None) if entries else ""


def _interval(seconds: float | None) -> str:
    """The usual interval that a measured one is meant to be; '' if it is unknown, or longer than any."""
    if seconds is None:
        return ""
    return next((name for name, usual in _INTERVALS.items() if seconds <= usual * _LATE), "")
