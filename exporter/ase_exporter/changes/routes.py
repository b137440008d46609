"""/changes as a page and as JSON, and /annotations for changes told by hand."""

import html
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ase_exporter.changes.change import ANNOTATION, HOST, Change, clock, new_id
from ase_exporter.changes.filters import parse_filter
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.store import StoreError
from ase_exporter.errors import UserError
from ase_exporter.pages import page
from ase_exporter.settings import Model

Body = TypeVar("Body", bound=Model)
_LARGEST_BODY = 64 * 1024
_PAGE_LIMIT = 500
_DAY = 86400.0


class ChangeRoute(NamedTuple):
    """A path, what answers it, and by which method."""

    path: str
    handler: Callable[[Request], Awaitable[Response]]
    method: str


class Annotation(Model):
    """Body of POST /annotations. id: chosen by the caller, so that a repeated request is harmless; at: when
    it happened, if not now."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    target: str = ""
    tags: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], Field(max_length=20)
    ] = ()
    who: Annotated[str, Field(max_length=100)] = ""
    id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] = Field(default_factory=new_id)
    at: float | None = None


class Finish(Model):
    """Body of POST /annotations/ID/finish. failed: '' or how it failed; end: when, if not now."""

    end: float | None = None
    failed: Annotated[str, Field(max_length=200)] = ""


def change_routes(journal: Journal, targets: Callable[[], Sequence[str]]) -> list[ChangeRoute]:
    """What the web part mounts. targets: the names that are configured now."""

    async def changes(request: Request) -> Response:
        as_json = request.query_params.get("format") == "json" or _prefers_json(request)
        try:
            wanted = parse_filter(request.query_params, limit=_PAGE_LIMIT)
            found = await journal.find(wanted)
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 400)
        except StoreError as error:
            return PlainTextResponse(f"the history cannot be read now: {error}\n", 503)
        if as_json:
            return JSONResponse([change.json() for change in found])
        return HTMLResponse(_page(found, request, targets()))

    async def annotate(request: Request) -> Response:
        try:
            body = await _read(request, Annotation)
            if body.target and body.target not in targets():
                raise UserError(f"target: {body.target}: no such target is configured")
            at = _moment(body.at, "at")
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 400)
        change = Change(
            id=body.id,
            target=body.target,
            kind=ANNOTATION,
            name=body.text,
            old="",
            new="",
            at=at,
            who=body.who,
            source="hand",
            tags=body.tags,
        )
        try:
            await journal.annotate(change)
        except StoreError as error:
            return PlainTextResponse(f"the annotation cannot be kept now: {error}\n", 503)
        return JSONResponse({"id": change.id}, 201)

    async def finish(request: Request) -> Response:
        try:
            body = await _read(request, Finish)
            end = _moment(body.end, "end")
            change = await journal.finish(request.path_params["id"], end, body.failed)
        except UserError as error:
            return PlainTextResponse(f"{error}\n", 400)
        except StoreError as error:
            return PlainTextResponse(f"the annotation cannot be kept now: {error}\n", 503)
        if change is None:
            return PlainTextResponse("no annotation of that id is open\n", 404)
        return JSONResponse({"id": change.id})

    return [
        ChangeRoute("/changes", changes, "GET"),
        ChangeRoute("/annotations", annotate, "POST"),
        ChangeRoute("/annotations/{id}/finish", finish, "POST"),
    ]


def _moment(given: float | None, what: str) -> float:
    """That time, or now. UserError if it is more than a day away: then a clock or a unit is wrong."""
    now = time.time()
    if given is not None and not abs(given - now) < _DAY:
        raise UserError(f"{what}: expected Unix seconds within a day of now")
    return now if given is None else given


async def _read(request: Request, model: type[Body]) -> Body:
    # A page in somebody's browser can send a form to us, but no JSON without being asked first.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UserError("expected Content-Type: application/json")
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > _LARGEST_BODY:
            raise UserError(f"expected at most {_LARGEST_BODY} bytes")
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise UserError(f"{where}: {first['msg']}") from error


def _prefers_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def _page(found: Sequence[Change], request: Request, targets: Sequence[str]) -> str:
    chosen = request.query_params.get("target", "")
    names = ["", HOST, *targets]
    options = [
        f'<option value="{html.escape(name)}"{" selected" if name == chosen else ""}>'
        f"{html.escape(name) or 'all'}</option>"
        for name in names
    ]
    return page(
        Path(__file__).parent / "page.html",
        options="".join(options),
        text=html.escape(request.query_params.get("text", "")),
        since=html.escape(request.query_params.get("since", "")),
        rows="\n".join(_row(change) for change in found)
        or '<tr><td colspan="6">No changes are known.</td></tr>',
    )


def _row(change: Change) -> str:
    when = clock(change.at)
    if change.not_before is not None:
        when = f"{clock(change.not_before)} …<br>{when}"
    elif change.end is not None:
        when = f"{when} –<br>{clock(change.end)}"
    tags = " ".join(f'<span class="tag">{html.escape(tag)}</span>' for tag in change.tags)
    failed = f' <span class="failed">failed: {html.escape(change.new)}</span>' if change.failed else ""
    said = "" if change.kind == ANNOTATION else f"{html.escape(change.old)} → {html.escape(change.new)}"
    cells = [
        when,
        html.escape(change.target or HOST if change.kind != ANNOTATION else change.target),
        html.escape(change.kind),
        f"{html.escape(change.name)}{failed} {tags}",
        said,
        html.escape(change.who),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
