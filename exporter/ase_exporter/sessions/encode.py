"""Snapshots as JSON, for pages, assistants, scripts and incidents: bounded, with text only if that was asked for."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import msgspec

from ase_exporter.sessions.blocking import blocking_trees, relevant_sessions
from ase_exporter.sessions.session import Session, Snapshot
from ase_exporter.sessions.statements import StatementCost

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
            for each in relevant_sessions(snapshot.sessions, most)
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
        "waits": [asdict(each) for each in snapshot.waits],
    }


def snapshot_from(content: Mapping[str, Any]) -> Snapshot:
    """The snapshot that `snapshot_json` has encoded. Raises ValueError."""
    return Snapshot(
        datetime.fromisoformat(str(content.get("time"))).timestamp(),
        tuple(msgspec.convert(content.get("sessions"), list[Session])),
        tuple(msgspec.convert(content.get("statements"), list[StatementCost])),
        msgspec.convert(content.get("missing"), dict[str, str]),
        cut=bool(content.get("more_than_listed")),
    )
