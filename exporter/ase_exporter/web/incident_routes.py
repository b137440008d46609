"""/incidents: what was kept, as a page and as JSON, and what an Alertmanager's webhook asks to be kept."""

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ase_exporter.errors import UserError
from ase_exporter.sessions.incidents import Incident
from ase_exporter.untrusted.entry import load_json, one_line
from ase_exporter.views.page import render
from ase_exporter.web.session_routes import sessions_page
from ase_exporter.web.write_access import request_body

if TYPE_CHECKING:
    from ase_exporter.web.app import ExporterApp

NONE_KEPT = "no incidents are kept: sessions.incidents is 0 in the configuration\n"
# Alerts of one notification that are looked at, and characters of a name.
MAX_ALERTS, MAX_NAME = 100, 100


class _Alert(msgspec.Struct):
    status: str
    labels: dict[str, str]


class _Notification(msgspec.Struct):
    """What is used of the body of Alertmanager's webhook, version 4."""

    alerts: list[_Alert]


class IncidentHandlers:
    """Request handlers."""

    def __init__(self, exporter: "ExporterApp") -> None:
        self._exporter = exporter

    async def show(self, request: Request) -> Response:
        """Answers GET /incidents: the list, or the one of `id`."""
        if self._exporter.keeper is None:
            return PlainTextResponse(NONE_KEPT, 404)
        kept, name = self._exporter.keeper.kept(), request.query_params.get("id", "")
        as_json = request.query_params.get("format") == "json"
        if not name:
            found = list(kept.all())
            if as_json:
                return JSONResponse([_summary(each) for each in found])
            return HTMLResponse(render("incidents.html", title="Incidents", found=map(_summary, found)))
        try:
            incident = kept.one(name)
            if as_json:
                return JSONResponse(dict(incident.content))
            return HTMLResponse(
                sessions_page([], incident.target, incident.snapshot, {"refresh": "0"}, incident=incident)
            )
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 404)

    async def ask(self, request: Request) -> Response:
        """Answers POST /incidents, the webhook of an Alertmanager: keeps one of each firing server, within limits."""
        keeper = self._exporter.keeper
        if keeper is None:
            return PlainTextResponse(NONE_KEPT, 404)
        if not self._exporter.has_users:
            return PlainTextResponse("keeping an incident needs a login (basic_auth_users)\n", 403)
        try:
            notification = msgspec.convert(load_json(await request_body(request)), _Notification)
        except (UserError, ValueError) as error:
            return PlainTextResponse(
                f"expected a notification of Alertmanager: {one_line(str(error))}\n", 400
            )
        names = self._exporter.names()
        begun = []
        for alert in notification.alerts[:MAX_ALERTS]:
            target = alert.labels.get("instance", "")
            finding = alert.labels.get("alertname", "alert")[:MAX_NAME]
            if alert.status == "firing" and target in names and keeper.begin(target, finding):
                begun.append(target)
        return JSONResponse({"begun": begun}, 202)


def _summary(found: Incident) -> dict[str, Any]:
    """What lists show of an incident."""
    content = found.content
    return {
        "id": found.id,
        "target": found.target,
        "time": content["time"],
        "finding": found.finding,
        "active": content.get("active", {}),
    }
