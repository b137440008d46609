"""Who blocks whom, as the collector `blocking` shows it."""

from collections import defaultdict
from collections.abc import Sequence

from ase_exporter.diagnosis.measures import Readings

BLOCKED = "ase_blocked_process_seconds"


def root_blockers(readings: Readings) -> list[str]:
    """The processes (spid) that block others and are not blocked.

    First comes whom others have waited for longest, in sum: short waits that end by themselves are usual.
    """
    if readings.unknown(BLOCKED, is_rate=False):
        return []
    rows = [(labels, seconds) for labels, seconds in readings.values(BLOCKED) if labels["spid"] != "rest"]
    return roots([(labels["spid"], labels["blocked_by"], seconds) for labels, seconds in rows])


def roots(blocked: Sequence[tuple[str, str, float]]) -> list[str]:
    """The heads of the chains, in the same order. blocked: process, by whom it is blocked, and for how long."""
    blocked_by = {spid: by for spid, by, _ in blocked}
    waited: defaultdict[str, float] = defaultdict(float)
    for spid, _, seconds in blocked:
        root, seen = spid, {spid}
        while root in blocked_by and blocked_by[root] not in seen:
            root = blocked_by[root]
            seen.add(root)
        waited[root] += seconds
    return sorted(waited, key=lambda root: -waited[root])
