"""The arguments of the tools. They are strict: other types, unknown names and long texts are errors."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ase_exporter.compare.measures import measures
from ase_exporter.untrusted.entry import one_line

MAX_NAME = 200
MAX_QUERY = 4000

Server = Annotated[
    str,
    # Answers repeat it.
    AfterValidator(one_line),
    Field(min_length=1, max_length=MAX_NAME, description="The server's name, as the tool servers lists it."),
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
Seconds = Annotated[float, Field(ge=0, le=86400, allow_inf_nan=False)]
MeasureName = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra={"enum": list(measures())})]


class Arguments(BaseModel):
    """No arguments."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class Window(Arguments):
    """A server and a window of time."""

    server: Server
    start: Start = "now-15m"
    end: End = "now"


class HotSpinlocks(Window):
    """A window, and how many spinlocks."""

    top: Annotated[int, Field(ge=1, le=50)] = 10
    """How many spinlocks."""


class Changes(Window):
    """A window of a day, and how many changes."""

    start: Start = "now-24h"
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """How many changes, the newest."""


class Compare(Arguments):
    """One of: change; before and after; runs."""

    server: Server
    change: Annotated[str | None, Field(max_length=MAX_NAME)] = None
    """A change: the id or the text that the tool changes gives."""
    before: Span | None = None
    after: Span | None = None
    runs: Annotated[str | None, Field(max_length=90)] = None
    """START..END, split into runs by the changes in it."""
    length: Seconds = 1800.0
    """Maximum seconds of a window around a change."""
    settle: Seconds = 60.0
    """Seconds left out after a change."""
    measures: Annotated[list[MeasureName] | None, Field(max_length=50)] = None
    """Only these measures. Default: all."""
    everything: bool = False
    """Also rows without evidence of a difference; otherwise they are only counted."""


class Alerts(Arguments):
    """Which alerts."""

    server: Annotated[str, Field(max_length=MAX_NAME)] = ""
    """Only alerts of this server. Default: of all."""
    state: Literal["firing", "pending", "all"] = "firing"
    """pending: seen, but not yet for long enough."""
    runbooks: bool = True
    """With the runbook of each alert."""


class Query(Arguments):
    """A PromQL expression, at a time or over a range."""

    promql: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]
    """PromQL; names: resource ase-exporter://metrics."""
    at: Annotated[Time, Field(description="The time of an instant query.")] = "now"
    start: Time | None = None
    """With end: a range query; at most 31 days."""
    end: Time | None = None
    step: Annotated[float | None, Field(gt=0, le=604800, allow_inf_nan=False)] = None
    """Seconds between points. Default: about 100 points."""


class SysmonReport(Arguments):
    """Which reports of the directory."""

    path: Annotated[str, Field(max_length=500)] = ""
    """A file below the directory of reports. Default: list the files."""
    against: Annotated[str, Field(max_length=500)] = ""
    """An earlier report to compare with: what changed since."""


class Live(Arguments):
    """A server of the exporter, now."""

    server: Server
    limit: Annotated[int, Field(ge=1, le=200, description="How many rows.")] = 30


class OneSession(Live):
    """One session."""

    spid: Annotated[int, Field(ge=1, le=2**31 - 1, description="As sessions and blockers give it.")]


class LiveSessions(Live):
    """Which sessions."""

    doing: Annotated[
        Literal["", "cpu", "run_queue", "lock", "log", "disk", "network", "space", "other", "idle"],
        Field(description="Only those that do this, or wait for it. Default: all."),
    ] = ""
    text: Annotated[bool, Field(description="With the text of statements, without literals, if allowed.")] = (
        False
    )
