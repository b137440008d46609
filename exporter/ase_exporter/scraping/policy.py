"""The policy of a target as metrics, which the rules of alerts join."""

from collections.abc import Iterable, Sequence

from ase_exporter.config.policy import Policy
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family


def policy_families(entries: Sequence[Policy], databases: Iterable[str], now: float) -> list[Family]:
    """What holds at a Unix time for the server (database '') and each of its databases; no family without samples."""
    exempt: set[tuple[str, str, str]] = set()
    dumps: dict[tuple[str, str], float] = {}
    criticality: dict[str, str] = {}
    current = [each for each in entries if each.until is None or now < each.until]
    for database in ("", *databases):
        for entry in (each for each in current if each.is_about(database)):
            if entry.exempts(now):
                kind = "window" if entry.windows else "always"
                exempt |= {(alert, database, kind) for alert in entry.exempt}
            if entry.criticality:
                criticality.setdefault(database, entry.criticality)
            intervals = (("database", entry.dumps.database), ("log", entry.dumps.log))
            for dumped, interval in intervals if database else ():
                if interval is not None:
                    dumps.setdefault((database, dumped), interval)
    low = [((database,), 1.0) for database, level in criticality.items() if level == "low"]
    families = (
        OWN.family("ase_policy_exempt", [(labels, 1.0) for labels in sorted(exempt)]),
        OWN.family("ase_policy_dump_interval_seconds", dumps.items()),
        OWN.family("ase_policy_low_criticality", low),
    )
    return [family for family in families if family.samples]
