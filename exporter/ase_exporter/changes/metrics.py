"""Changes as metrics: what dashboards draw annotations from without a token."""

from collections.abc import Iterable

from ase_exporter.changes.change import Change
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import shorten
from ase_exporter.families import Family, single

# A change has from and to in labels, so they are kept short.
_LABEL_LENGTH = 80


def target_families(journal: Journal, target: str) -> list[Family]:
    """The changes of one target, for its scrape."""
    return _families("ase", "the server", journal, target)


def host_families(journal: Journal) -> list[Family]:
    """The changes of the machine and annotations that name no target, for /metrics."""
    return _families("dbhost", "the machine that the exporter runs on", journal, "")


def own_families(journal: Journal) -> list[Family]:
    """How the history and the queue to Grafana fare, for /metrics."""
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
                "Annotations that Grafana refused, or that were given up because the queue was full.",
                float(journal.poster.refused + journal.given_up),
            ),
        ]
    return families


def _families(prefix: str, whose: str, journal: Journal, target: str) -> list[Family]:
    when = Family(
        f"{prefix}_change_timestamp_seconds",
        "gauge",
        f"When something about {whose} changed, or was first seen changed; recent changes only.",
        ("from", "kind", "name", "to"),
    )
    for labels, at in _latest(journal.recent(target)).items():
        when.add(at, *labels)
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
    return [family for family in (when, count, maintenance) if family.samples]


def _latest(changes: Iterable[Change]) -> dict[tuple[str, str, str, str], float]:
    """Labels -> time; the same change made twice is one series, with the later time."""
    latest: dict[tuple[str, str, str, str], float] = {}
    for change in changes:
        labels = (change.old, change.kind, change.name, change.new)
        old, kind, name, new = (shorten(label, _LABEL_LENGTH) for label in labels)
        key = (old, kind, name, new)
        latest[key] = max(change.at, latest.get(key, 0.0))
    return latest
