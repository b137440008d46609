"""Snapshots as JSON, for pages, assistants, scripts and incidents: bounded, with text only if that was asked for."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ase_exporter.sessions.blocking import blocking_trees, most_relevant
from ase_exporter.sessions.session import Snapshot

# Sessions of an answer; `active` counts all of them.
MAX_SESSIONS = 500


def snapshot_json(snapshot: Snapshot, most: int = MAX_SESSIONS) -> dict[str, Any]:
    """Who ran what, who blocked whom, and the statements that cost most. Durations are seconds; null is not known."""
    return {
        "time": datetime.fromtimestamp(snapshot.at, UTC).isoformat(timespec="milliseconds"),
        "active": snapshot.active,
        "listed": len(snapshot.sessions),
        "more_than_listed": snapshot.cut,
        "missing": dict(snapshot.missing),
        "sessions": [
            asdict(each) | {"active": each.active, "statement": each.statement}
            for each in most_relevant(snapshot.sessions, most)
        ],
        "blocking": [
            {"spid": each.session.spid, "depth": each.depth, "blocks": each.blocks}
            for each in blocking_trees(snapshot.sessions)[:most]
        ],
        "statements": [
            asdict(each)
            | {"reads_each": each.each("reads"), "elapsed_each": each.each("elapsed"), "change": each.change}
            for each in snapshot.statements
        ],
    }
