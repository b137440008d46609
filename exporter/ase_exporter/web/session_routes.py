"""/sessions: who runs what on a target now, as a page and as JSON. Read-only."""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.provenance import REASONS
from ase_exporter.sessions.blocking import blocking_trees, relevant_sessions, whole_trees
from ase_exporter.sessions.encode import MAX_SESSIONS, snapshot_json
from ase_exporter.sessions.incidents import Incident
from ase_exporter.sessions.session import Snapshot
from ase_exporter.sessions.sources import SESSIONS, STATEMENTS, TEXT, waits_of
from ase_exporter.views.figures import zone
from ase_exporter.views.page import render

if TYPE_CHECKING:
    from ase_exporter.web.app import ExporterApp

# Seconds between two readings of a page that stays open.
REFRESH = 5
# Rows of each table: a page for somebody who looks, also on a phone; JSON has more.
MAX_LINKS, MAX_ROWS, MAX_STATEMENTS, MAX_WAITS = 25, 50, 15, 15

# What a filter looks at.
_SEARCHED = attrgetter("login", "program", "database", "host", "statement", "object", "doing", "spid")


class SessionHandlers:
    """Request handlers."""

    def __init__(self, exporter: "ExporterApp") -> None:
        self._exporter = exporter

    async def sessions(self, request: Request) -> Response:
        """Answers /sessions. text=1 asks for the text of statements; spid=77, for the waits of that session."""
        exporter, asked = self._exporter, request.query_params
        names = [target.name for target in exporter.config.targets]
        target = asked.get("target") or (names[0] if names else "")
        if target not in names:
            return PlainTextResponse("no such target is configured\n", 404)
        with_text = asked.get("text") == "1"
        if with_text and not exporter.shows_statement_text:
            return PlainTextResponse(
                "the text of statements needs sessions.statement_text in the configuration, and a login\n",
                403,
            )
        spid = _spid(asked)
        more = [*([TEXT] if with_text else ()), *([waits_of(spid)] if spid else ())]
        answer = await exporter.sessions(target, SESSIONS, STATEMENTS, *more)
        snapshot = answer.sessions
        problem = "" if snapshot else answer.summary.error or "no answer in time"
        if asked.get("format") == "json":
            found = snapshot_json(snapshot) if snapshot else None
            return JSONResponse(
                {"target": target, "error": problem or None, "snapshot": found}, 200 if snapshot else 503
            )
        return HTMLResponse(
            sessions_page(names, target, snapshot, asked, problem, text_allowed=exporter.shows_statement_text)
        )


def _spid(asked: Mapping[str, str]) -> int:
    """The session that is looked at, an int of the server; 0 for none."""
    given = asked.get("spid", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0


def sessions_page(
    names: list[str],
    target: str,
    snapshot: Snapshot | None,
    asked: Mapping[str, str],
    problem: str = "",
    *,
    text_allowed: bool = False,
    incident: Incident | None = None,
) -> str:
    """The page as HTML. asked: the parameters of the request. problem: why there is no snapshot. incident: of which the
    snapshot is, if it is not of now."""
    refresh = 0 if asked.get("refresh") == "0" else REFRESH
    wanted = asked.get("contains", "").strip().lower()
    sessions = [
        each
        for each in (snapshot.sessions if snapshot else ())
        if any(wanted in str(value).lower() for value in _SEARCHED(each))
    ]
    spids = {each.spid for each in sessions}
    trees = blocking_trees(snapshot.sessions) if snapshot else []
    links = [
        each
        for tree in whole_trees(trees)
        if any(link.session.spid in spids for link in tree)
        for each in tree
    ]
    return render(
        "sessions.html",
        title=f"Incident of {target}: {incident.finding}" if incident else f"Sessions of {target}",
        incident=incident,
        titles={name: part.title for name, part in catalogue().account.items()},
        active=incident.content.get("active", {}) if incident else snapshot.active if snapshot else {},
        names=names,
        target=target,
        snapshot=snapshot,
        reasons=REASONS,
        zone=zone(snapshot.at) if snapshot else "",
        sessions=relevant_sessions(sessions, MAX_ROWS),
        hidden=len(sessions) - MAX_ROWS,
        links=links[:MAX_LINKS],
        more_links=len(links) - MAX_LINKS,
        max_statements=MAX_STATEMENTS,
        spid=_spid(asked),
        looked_at=snapshot.waits_of(_spid(asked)) if snapshot else None,
        max_waits=MAX_WAITS,
        most=MAX_SESSIONS,
        problem=problem,
        refresh=refresh,
        contains=asked.get("contains", ""),
        with_text=asked.get("text") == "1",
        text_allowed=text_allowed,
    )
