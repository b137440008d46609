"""Changes as metrics, from which dashboards draw annotations without an API token."""

from collections.abc import Iterable

from ase_exporter.changes.change import Change
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import shorten
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family

# Maximum length of the labels `from` and `to`.
_LABEL_LENGTH = 80


def target_families(journal: Journal, target: str) -> list[Family]:
    """The changes of one target, for its scrape."""
    return _families("ase", journal, target)


def host_families(journal: Journal) -> list[Family]:
    """The changes of the host, and annotations without a target, for /metrics."""
    return _families("dbhost", journal, "")


def own_families(journal: Journal) -> list[Family]:
    """Health of the history and of the queue to Grafana, for /metrics."""
    values = {"change_store_up": journal.store_ok, "change_store_errors_total": journal.store_errors}
    if poster := journal.poster:
        values |= {
            "annotations_queued": poster.queued,
            "annotation_failures_total": poster.failures,
            "annotations_lost_total": poster.lost,
        }
    return [OWN.value(f"ase_exporter_{name}", value) for name, value in values.items()]


def _families(prefix: str, journal: Journal, target: str) -> list[Family]:
    when = OWN.family(f"{prefix}_change_timestamp_seconds")
    not_before = OWN.family(f"{prefix}_change_not_before_timestamp_seconds")
    for key, change in _latest(journal.recent(target)).items():
        when.add(change.at, *key)
        not_before.add(change.at if change.not_before is None else change.not_before, *key)
    totals = [((kind,), float(number)) for kind, number in sorted(journal.totals(target).items())]
    maintenance = OWN.family(f"{prefix}_maintenance")
    if journal.in_maintenance(target):
        maintenance.add(1.0)
    families = (when, not_before, OWN.family(f"{prefix}_changes_total", totals), maintenance)
    return [family for family in families if family.samples]


def _latest(changes: Iterable[Change]) -> dict[tuple[str, str, str, str], Change]:
    """Labels -> change. The same change made twice is one series, with the later time."""
    latest: dict[tuple[str, str, str, str], Change] = {}
    for change in changes:
        labels = (change.old, change.kind, change.name, change.new)
        old, kind, name, new = (shorten(label, _LABEL_LENGTH) for label in labels)
        key = (old, kind, name, new)
        if key not in latest or change.at >= latest[key].at:
            latest[key] = change
    return latest
