"""Who blocks whom, as the collector `blocking` shows it."""

from ase_exporter.diagnosis.measures import Readings
from ase_exporter.sessions.blocking import chain_heads

BLOCKED = "ase_blocked_process_seconds"


def root_blockers(readings: Readings) -> list[str]:
    """The processes (spid) that block others and are not blocked.

    First comes whom others have waited for longest, in sum: short waits that end by themselves are usual.
    """
    if readings.unknown(BLOCKED, is_rate=False):
        return []
    rows = [(labels, seconds) for labels, seconds in readings.values(BLOCKED) if labels["spid"] != "rest"]
    return chain_heads([(labels["spid"], labels["blocked_by"], seconds) for labels, seconds in rows])
