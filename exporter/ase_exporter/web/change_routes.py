"""/changes, as a page and as JSON, and /annotations, which takes annotations from users and scripts."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from annotated_types import MaxLen, MinLen
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from ase_exporter.changes.change import HOST, annotation, new_id
from ase_exporter.changes.filters import parse_filter
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.store import StoreError
from ase_exporter.config.fields import Moment, Strict, Validator, matching
from ase_exporter.errors import UserError
from ase_exporter.untrusted.entry import one_line
from ase_exporter.views.figures import zone
from ase_exporter.views.page import render
from ase_exporter.web.write_access import request_body

Body = TypeVar("Body", bound=Strict)
# White space is one space: Grafana shows an annotation as one paragraph anyway.
Line = Annotated[str, Validator(lambda text: one_line(" ".join(text.split())))]
_DAY = 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation(Strict):
    """Body of POST /annotations.

    id: chosen by the caller, so that a repeated request is harmless. at: Unix time, if not now.
    """

    text: Annotated[Line, MinLen(1), MaxLen(2000)]
    target: str = ""
    tags: Annotated[tuple[Annotated[Line, MinLen(1), MaxLen(100)], ...], MaxLen(20)] = ()
    who: Annotated[Line, MaxLen(100)] = ""
    id: Annotated[str, Validator(matching("[0-9a-f]{16}", "16 hexadecimal digits"))] = field(
        default_factory=new_id
    )
    at: Moment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finish(Strict):
    """Body of POST /annotations/ID/finish. failed: the reason, or '' for success. end: Unix time, if not now."""

    end: Moment | None = None
    failed: Annotated[Line, MaxLen(200)] = ""


class ChangeHandlers:
    """Request handlers. targets: returns the names of the configured targets."""

    def __init__(self, journal: Journal, targets: Callable[[], Sequence[str]]) -> None:
        self._journal = journal
        self._targets = targets

    async def changes(self, request: Request) -> Response:
        """Answers /changes."""
        as_json = request.query_params.get("format") == "json"
        try:
            wanted = parse_filter(request.query_params, limit=500)
            found = await self._journal.find(wanted)
        except UserError as error:
            return PlainTextResponse(f"{one_line(str(error))}\n", 400)
        except StoreError as error:
            return PlainTextResponse(f"the history cannot be read: {error}\n", 503)
        if as_json:
            return JSONResponse([change.json() for change in found])
        chosen = {name: request.query_params.get(name, "") for name in ("target", "text", "since")}
        page = render(
            "changes.html",
            title="Changes",
            zone=zone(*(each.at for each in found)),
            changes=found,
            chosen=chosen,
            host=HOST,
            targets=["", HOST, *self._targets()],
        )
        return HTMLResponse(page)

    async def annotate(self, request: Request) -> Response:
        """Answers POST /annotations."""
        try:
            body = await _read(request, Annotation)
            if body.target and body.target not in self._targets():
                raise UserError(f"target: {body.target}: no such target is configured")
            at = _moment(body.at, "at")
        except UserError as error:
            return PlainTextResponse(f"{one_line(str(error))}\n", 400)
        change = annotation(
            body.text, at, target=body.target, who=body.who, tags=body.tags, change_id=body.id
        )
        try:
            await self._journal.annotate(change)
        except StoreError as error:
            return PlainTextResponse(f"the annotation cannot be stored: {error}\n", 503)
        return JSONResponse({"id": change.id}, 201)

    async def finish(self, request: Request) -> Response:
        """Answers POST /annotations/ID/finish."""
        try:
            body = await _read(request, Finish)
            end = _moment(body.end, "end")
            change = await self._journal.finish(request.path_params["id"], end, body.failed)
        except UserError as error:
            return PlainTextResponse(f"{one_line(str(error))}\n", 400)
        except StoreError as error:
            return PlainTextResponse(f"the annotation cannot be stored: {error}\n", 503)
        if change is None:
            return PlainTextResponse("there is no annotation with that id\n", 404)
        return JSONResponse({"id": change.id})


def _moment(given: float | None, what: str) -> float:
    """The given time, or now. Raises UserError if it is over a day from now: a clock or a unit is wrong."""
    now = time.time()
    if given is not None and not abs(given - now) < _DAY:
        raise UserError(f"{what}: expected a time within a day of now")
    return now if given is None else given


async def _read(request: Request, form: type[Body]) -> Body:
    # Most exporters never get such a request and need no pydantic.
    from pydantic import TypeAdapter, ValidationError

    from ase_exporter.config.yaml_files import expectation

    try:
        return TypeAdapter(form).validate_json(await request_body(request))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise UserError(f"{where}: {expectation(first)}") from error
