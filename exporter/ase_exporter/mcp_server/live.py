"""The tools sessions, waits, blockers and statements: who runs what now, from the exporter's /sessions."""

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, TypeVar

from ase_exporter.compare.marks import ask_exporter
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import (
    FoundBlockers,
    FoundSessions,
    FoundStatements,
    FoundWaits,
    LiveAnswer,
)
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.sessions.session import Session

Found = TypeVar("Found", bound=LiveAnswer)


def sessions(sources: Sources, arguments: inputs.LiveSessions) -> FoundSessions:
    """Sessions at work now, the longest in their state first: what each runs, waits for, and who blocks it.

    The text of statements needs sessions.statement_text in the exporter's configuration, and a login in its URL."""
    found = _snapshot(sources, arguments.server, **({"text": "1"} if arguments.text else {}))
    chosen = [each for each in found["sessions"] if not arguments.doing or each["doing"] == arguments.doing]
    return _answer(FoundSessions, arguments, found, "sessions", chosen, active=found["active"])


def blockers(sources: Sources, arguments: inputs.Live) -> FoundBlockers:
    """Who blocks whom now: each chain from its head, the one for which others have waited longest first."""
    found = _snapshot(sources, arguments.server)
    known = {each["spid"]: each for each in found["sessions"]}
    chains = [each | {"session": _rows([known.get(each["spid"], each)])[0]} for each in found["blocking"]]
    return _answer(FoundBlockers, arguments, found, "chains", chains)


def waits(sources: Sources, arguments: inputs.OneSession) -> FoundWaits:
    """What one session waited for, by wait event: since it logged in, and since the call before, which is what counts
    for a session that has been there for long. Call it twice, a few seconds apart."""
    found = _snapshot(sources, arguments.server, spid=str(arguments.spid))
    waited = next((each for each in found["waits"] if each["spid"] == arguments.spid), _NO_WAITS)
    more = {"spid": arguments.spid, "window_seconds": waited["window"]}
    return _answer(FoundWaits, arguments, found, "waits", waited["events"], **more)


def statements(sources: Sources, arguments: inputs.Live) -> FoundStatements:
    """Procedures and cached statements that cost most since the last reading, without text, and which read far more
    in each execution than before. Call it twice, ten seconds apart: costs are differences."""
    found = _snapshot(sources, arguments.server)
    return _answer(FoundStatements, arguments, found, "statements", found["statements"])


# Of a blocker that was not listed, and of a session that has not waited.
_UNLISTED = asdict(Session(0, 0)) | {"statement": ""}
_NO_WAITS: dict[str, Any] = {"window": None, "events": []}


def _answer(
    kind: type[Found],
    arguments: inputs.Live,
    found: dict[str, Any],
    name: str,
    rows: list[dict[str, Any]],
    **more: object,
) -> Found:
    """The answer with at most as many rows as are asked for. name: of their field."""
    return kind.of(
        server=arguments.server,
        at=found["time"],
        left_out=max(0, len(rows) - arguments.limit),
        notes=_notes(found),
        **{name: _rows(rows[: arguments.limit])},
        **more,
    )


def _rows(rows: list[dict[str, Any]]) -> list[SimpleNamespace]:
    """Rows as objects, from which an answer takes the fields that it shows."""
    return [SimpleNamespace(**_UNLISTED | each) for each in rows]


def _snapshot(sources: Sources, server: str, **more: str) -> dict[str, Any]:
    if sources.exporter is None:
        raise UserError("sessions are read by the exporter: start the command mcp with --exporter URL")
    parameters = {"target": server, "format": "json", **more}
    answer = ask_exporter(sources.exporter, "/sessions", parameters)
    found = answer.get("snapshot") if isinstance(answer, dict) else None
    if not isinstance(found, dict) or not {"sessions", "blocking", "statements", "waits"} <= found.keys():
        raise UserError("--exporter: not an answer of ase-exporter to /sessions")
    return found


def _notes(found: dict[str, Any]) -> list[str]:
    notes = [f"{name} not read: {why}" for name, why in found["missing"].items()]
    return [*notes, *(["there are more sessions than were listed"] if found["more_than_listed"] else [])]
