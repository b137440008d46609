"""Who blocks whom, as the collector `blocking` shows it."""

from ase_exporter.diagnosis.measures import Readings

BLOCKED = "ase_blocked_process_seconds"


def root_blockers(readings: Readings) -> list[tuple[str, int]]:
    """The processes (spid) that block others and are not blocked, with how many they block, the worst first."""
    if readings.unknown(BLOCKED, is_rate=False):
        return []
    rows = [labels for labels, _ in readings.values(BLOCKED) if labels["spid"] != "rest"]
    blocked_by = {labels["spid"]: labels["blocked_by"] for labels in rows}
    counts: dict[str, int] = {}
    for spid in blocked_by:
        root, seen = spid, {spid}
        while root in blocked_by and blocked_by[root] not in seen:
            root = blocked_by[root]
            seen.add(root)
        counts[root] = counts.get(root, 0) + 1
    return sorted(counts.items(), key=lambda each: -each[1])
