"""The arguments of the tools. They are strict: other types, unknown names and long texts are errors."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ase_exporter.compare.measures import measures
from ase_exporter.untrusted.entry import one_line

MAX_NAME = 200

Server = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME, description="The server's name, as the tool servers lists it."),
    # Answers repeat it.
    AfterValidator(one_line),
]
Time = Annotated[
    str,
    Field(
        max_length=40,
        description="now, now-2h, 2h (ago), 2026-05-04T10:30Z or Unix seconds as text. Without Z: local time.",
    ),
]
Start = Annotated[
    Time, Field(description="Start of the window: now-2h, 2026-05-04T10:30Z or Unix seconds as text.")
]
End = Annotated[Time, Field(description="End of the window, likewise.")]
Span = Annotated[str, Field(max_length=90, description="START..END, for example now-3h..now-2h.")]
MeasureName = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra={"enum": list(measures())})]


class Arguments(BaseModel):
    """No arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class OneServer(Arguments):
    """A server."""

    server: Server


class Window(OneServer):
    """A server and a window of time."""

    start: Start = "now-15m"
    end: End = "now"


class Diagnose(OneServer):
    """A server, now or in a window of time."""

    start: Start | None = None
    """Default: now, as the exporter sees it; without an exporter, 15 minutes ago."""
    end: End = "now"


class Changes(Window):
    """A window of a day, and how many changes."""

    start: Start = "now-24h"
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """How many changes, the newest."""


class Compare(OneServer):
    """One of: change; before and after; runs."""

    change: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """A change: the id or the text that the tool changes gives."""
    before: Span | None = None
    after: Span | None = None
    runs: Annotated[str | None, Field(max_length=90)] = None
    """START..END, split into runs by the changes in it."""
    measures: Annotated[list[MeasureName] | None, Field(max_length=50)] = None
    """Only these measures. Default: all."""
    everything: bool = False
    """Also rows without evidence of a difference; otherwise they are only counted."""


class Sessions(OneServer):
    """A server of the exporter, now."""

    limit: Annotated[int, Field(ge=1, le=200)] = 30
    """How many rows of each list."""
    spid: Annotated[int | None, Field(ge=1, le=2**31 - 1)] = None
    """Also what this session waited for."""
    text: bool = False
    """With the text of statements, without literals, if allowed."""
