"""The tool sessions: who runs what now, and who blocks whom, from the exporter's /sessions."""

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

from ase_exporter.compare.marks import ask_exporter
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import FoundSessions
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.sessions.session import Session

# Of a blocker that was not listed, and of a session that has not waited.
_UNLISTED = asdict(Session(0, 0)) | {"statement": ""}
_NO_WAITS: dict[str, Any] = {"window": None, "events": []}


def sessions(sources: Sources, arguments: inputs.Sessions) -> FoundSessions:
    """Who is at work now, the longest in their state first; who blocks whom; which statements cost most since the
    last reading, and which changed; what one session (spid) waited for. Costs and waits are differences between
    calls: ask twice, ten seconds apart. Texts need sessions.statement_text and a login in the exporter's URL."""
    found = _snapshot(sources, arguments)
    known = {each["spid"]: each for each in found["sessions"]}
    waited = next((each for each in found["waits"] if each["spid"] == arguments.spid), _NO_WAITS)
    lists: dict[str, list[dict[str, Any]]] = {
        "sessions": [each for each in known.values() if arguments.doing in ("", each["doing"])],
        "blocking": [
            each | {"session": _object(known.get(each["spid"], each))} for each in found["blocking"]
        ],
        "statements": found["statements"],
        "waits": waited["events"],
    }
    return FoundSessions.of(
        server=arguments.server,
        at=found["time"],
        active=found["active"],
        waits_window_seconds=waited["window"],
        left_out={name: max(0, len(rows) - arguments.limit) for name, rows in lists.items()},
        notes=_notes(found),
        **{name: [*map(_object, rows[: arguments.limit])] for name, rows in lists.items()},
    )


def _object(row: dict[str, Any]) -> SimpleNamespace:
    """A row as an object, from which an answer takes the fields that it shows."""
    return SimpleNamespace(**_UNLISTED | row)


def _snapshot(sources: Sources, arguments: inputs.Sessions) -> dict[str, Any]:
    if sources.exporter is None:
        raise UserError("sessions are read by the exporter: start the command mcp with --exporter URL")
    parameters = {"target": arguments.server, "format": "json"}
    parameters |= {"text": "1"} if arguments.text else {}
    parameters |= {"spid": str(arguments.spid)} if arguments.spid else {}
    answer = ask_exporter(sources.exporter, "/sessions", parameters)
    found = answer.get("snapshot") if isinstance(answer, dict) else None
    if not isinstance(found, dict) or not {"sessions", "blocking", "statements", "waits"} <= found.keys():
        raise UserError("--exporter: not an answer of ase-exporter to /sessions")
    return found


def _notes(found: dict[str, Any]) -> list[str]:
    notes = [f"{name} not read: {why}" for name, why in found["missing"].items()]
    return [*notes, *(["there are more sessions than were listed"] if found["more_than_listed"] else [])]
