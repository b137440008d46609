"""The tools sessions, blockers and statements: who runs what now, from the exporter's /sessions."""

from typing import Any

from ase_exporter.compare.marks import ask_exporter
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import FoundBlockers, FoundSessions, FoundStatements, LinkOf, SessionOf
from ase_exporter.mcp_server.sources import Sources


def sessions(sources: Sources, arguments: inputs.LiveSessions) -> FoundSessions:
    """Sessions at work now, the longest in their state first: what each runs, waits for, and who blocks it.

    The text of statements needs sessions.statement_text in the exporter's configuration, and a login in its URL."""
    found = _snapshot(sources, arguments.server, text=arguments.text)
    chosen = [each for each in found["sessions"] if not arguments.doing or each["doing"] == arguments.doing]
    return FoundSessions.of(
        server=arguments.server,
        at=found["time"],
        active=found["active"],
        sessions=[_session(each) for each in chosen[: arguments.limit]],
        left_out=max(0, len(chosen) - arguments.limit),
        notes=_notes(found),
    )


def blockers(sources: Sources, arguments: inputs.Live) -> FoundBlockers:
    """Who blocks whom now: each chain from its head, the one for which others have waited longest first."""
    found = _snapshot(sources, arguments.server)
    known = {each["spid"]: each for each in found["sessions"]}
    shown = found["blocking"][: arguments.limit]
    return FoundBlockers.of(
        server=arguments.server,
        at=found["time"],
        chains=[
            LinkOf(
                depth=each["depth"], blocks=each["blocks"], session=_session(known.get(each["spid"], each))
            )
            for each in shown
        ],
        left_out=len(found["blocking"]) - len(shown),
        notes=_notes(found),
    )


def statements(sources: Sources, arguments: inputs.Live) -> FoundStatements:
    """Procedures and cached statements that cost most since the last reading, without text, and which read far more
    in each execution than before. Call it twice, ten seconds apart: costs are differences."""
    found = _snapshot(sources, arguments.server)
    shown = found["statements"][: arguments.limit]
    return FoundStatements.of(
        server=arguments.server,
        at=found["time"],
        statements=[
            {
                "name": each["name"],
                "database": each["database"],
                "window_seconds": each["window"],
                "uses": each["uses"],
                "cpu_seconds": each["cpu"],
                "elapsed_seconds": each["elapsed"],
                "logical_reads": each["reads"],
                "reads_each": each["reads_each"],
                "changed": each["change"],
            }
            for each in shown
        ],
        left_out=len(found["statements"]) - len(shown),
        notes=_notes(found),
    )


def _snapshot(sources: Sources, server: str, *, text: bool = False) -> dict[str, Any]:
    if sources.exporter is None:
        raise UserError("sessions are read by the exporter: start the command mcp with --exporter URL")
    parameters = {"target": server, "format": "json", **({"text": "1"} if text else {})}
    answer = ask_exporter(sources.exporter, "/sessions", parameters)
    found = answer.get("snapshot") if isinstance(answer, dict) else None
    if not isinstance(found, dict) or not {"sessions", "blocking", "statements"} <= found.keys():
        raise UserError("--exporter: not an answer of ase-exporter to /sessions")
    return found


def _session(found: dict[str, Any]) -> SessionOf:
    return SessionOf(
        spid=found["spid"],
        doing=found.get("doing", "not known"),
        in_state_seconds=found.get("seconds"),
        blocked_by=found.get("blocked_by") or None,
        transaction_seconds=found.get("open_seconds"),
        login=found.get("login", ""),
        program=found.get("program", ""),
        database=found.get("database", ""),
        statement=found.get("statement", ""),
        object=found.get("object", ""),
        lock=found.get("lock", ""),
        wait_event=found.get("event", ""),
        cpu_seconds=found.get("cpu"),
        logical_reads=found.get("reads"),
        text=found.get("text") or None,
    )


def _notes(found: dict[str, Any]) -> list[str]:
    notes = [f"{name} not read: {why}" for name, why in found["missing"].items()]
    return [*notes, *(["there are more sessions than were listed"] if found["more_than_listed"] else [])]
