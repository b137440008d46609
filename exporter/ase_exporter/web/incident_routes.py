"""/incidents: what was kept, as a page and as JSON."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ase_exporter.errors import UserError
from ase_exporter.views.figures import zone
from ase_exporter.views.page import render
from ase_exporter.web.session_routes import sessions_page

if TYPE_CHECKING:
    from ase_exporter.web.app import ExporterApp


class IncidentHandlers:
    """Request handlers."""

    def __init__(self, exporter: "ExporterApp") -> None:
        self._exporter = exporter

    async def show(self, request: Request) -> Response:
        """Answers GET /incidents: the list, or the one of `id`."""
        if self._exporter.keeper is None:
            problem = "no incidents are kept: sessions.incidents is 0 in the configuration"
            return PlainTextResponse(f"{problem}\n", 404)
        kept, name = self._exporter.keeper.kept(), request.query_params.get("id", "")
        as_json = request.query_params.get("format") == "json"
        if not name:
            found = list(kept.all())
            if as_json:
                shown = ("target", "time", "finding", "active")
                return JSONResponse(
                    [{"id": each.id} | {name: each.content.get(name, {}) for name in shown} for each in found]
                )
            return HTMLResponse(
                render(
                    "incidents.html", title="Incidents", found=found, zone=zone(*(each.at for each in found))
                )
            )
        try:
            incident = kept.one(name)
            if as_json:
                return JSONResponse(dict(incident.content))
            return HTMLResponse(
                sessions_page([], incident.target, incident.snapshot, {"refresh": "0"}, incident=incident)
            )
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 404)
