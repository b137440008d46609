"""Changes as metrics, from which dashboards draw annotations without an API token."""

from collections.abc import Iterable

from ase_exporter.changes.change import Change
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import shorten
from ase_exporter.metrics.families import Family, single

# Maximum length of the labels `from` and `to`.
_LABEL_LENGTH = 80


def target_families(journal: Journal, target: str) -> list[Family]:
    """The changes of one target, for its scrape."""
    return _families("ase", "the server", journal, target)


def host_families(journal: Journal) -> list[Family]:
    """The changes of the host, and annotations without a target, for /metrics."""
    return _families("dbhost", "the machine that the exporter runs on", journal, "")


def own_families(journal: Journal) -> list[Family]:
    """Health of the history and of the queue to Grafana, for /metrics."""
    families = [
        single(
            "ase_exporter_change_store_up",
            "gauge",
            "1 if the history of changes can be read and written (--state-dir).",
            float(journal.store_ok),
        ),
        single(
            "ase_exporter_change_store_errors_total",
            "counter",
            "Reads and writes of the history of changes that failed.",
            float(journal.store_errors),
        ),
    ]
    if journal.poster:
        families += [
            single(
                "ase_exporter_annotations_queued",
                "gauge",
                "Annotations that Grafana has not got yet.",
                float(journal.queued),
            ),
            single(
                "ase_exporter_annotation_failures_total",
                "counter",
                "Requests to Grafana's annotation API that failed and are repeated.",
                float(journal.poster.failures),
            ),
            single(
                "ase_exporter_annotations_lost_total",
                "counter",
                "Annotations that Grafana rejected, or that were dropped because the queue was full.",
                float(journal.poster.rejected + journal.dropped),
            ),
        ]
    return families


def _families(prefix: str, whose: str, journal: Journal, target: str) -> list[Family]:
    labels = ("from", "kind", "name", "to")
    when = Family(
        f"{prefix}_change_timestamp_seconds",
        "gauge",
        f"When something about {whose} changed, or was first seen changed; recent changes only.",
        labels,
    )
    not_before = Family(
        f"{prefix}_change_not_before_timestamp_seconds",
        "gauge",
        f"When that change of {whose} was not there yet: it happened since. The same time if it is known exactly.",
        labels,
    )
    for key, change in _latest(journal.recent(target)).items():
        when.add(change.at, *key)
        not_before.add(change.at if change.not_before is None else change.not_before, *key)
    count = Family(
        f"{prefix}_changes_total",
        "counter",
        f"Changes seen of {whose}, by what changed.",
        ("kind",),
    )
    for kind, number in sorted(journal.totals(target).items()):
        count.add(float(number), kind)
    maintenance = Family(
        f"{prefix}_maintenance",
        "gauge",
        f"1 while maintenance of {whose} is announced: an open annotation with the tag maintenance.",
    )
    if journal.in_maintenance(target):
        maintenance.add(1.0)
    return [family for family in (when, not_before, count, maintenance) if family.samples]


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
