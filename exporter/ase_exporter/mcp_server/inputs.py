"""The arguments of the tools. They are strict: other types, unknown names and long texts are errors."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ase_exporter.compare.measures import measures

MAX_NAME = 200
MAX_QUERY = 4000

Server = Annotated[
    str,
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

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Window(Arguments):
    """A server and a window of time."""

    server: Server
    start: Start = "now-15m"
    end: End = "now"


class HotSpinlocks(Window):
    """A window, and how many spinlocks."""

    top: Annotated[int, Field(ge=1, le=50, description="How many spinlocks.")] = 10


class Changes(Window):
    """A window of a day, and how many changes."""

    start: Start = "now-24h"
    limit: Annotated[int, Field(ge=1, le=200, description="How many changes, the newest.")] = 50


class Compare(Arguments):
    """One of: change; before and after; runs."""

    server: Server
    change: Annotated[
        str | None,
        Field(max_length=MAX_NAME, description="A change: the id or the text that the tool changes gives."),
    ] = None
    before: Span | None = None
    after: Span | None = None
    runs: Annotated[
        str | None, Field(max_length=90, description="START..END, split into runs by the changes in it.")
    ] = None
    length: Annotated[Seconds, Field(description="Maximum seconds of a window around a change.")] = 1800.0
    settle: Annotated[Seconds, Field(description="Seconds left out after a change.")] = 60.0
    measures: Annotated[
        list[MeasureName] | None, Field(max_length=50, description="Only these measures. Default: all.")
    ] = None
    everything: Annotated[
        bool,
        Field(description="Also rows without evidence of a difference; otherwise they are only counted."),
    ] = False


class Alerts(Arguments):
    """Which alerts."""

    server: Annotated[
        str, Field(max_length=MAX_NAME, description="Only alerts of this server. Default: of all.")
    ] = ""
    state: Annotated[
        Literal["firing", "pending", "all"], Field(description="pending: seen, but not yet for long enough.")
    ] = "firing"
    runbooks: Annotated[bool, Field(description="With the runbook of each alert.")] = True


class Query(Arguments):
    """A PromQL expression, at a time or over a range."""

    promql: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_QUERY, description="PromQL; names: resource ase-exporter://metrics."
        ),
    ]
    at: Annotated[Time, Field(description="The time of an instant query.")] = "now"
    start: Annotated[Time | None, Field(description="With end: a range query; at most 31 days.")] = None
    end: Time | None = None
    step: Annotated[
        float | None,
        Field(
            gt=0,
            le=604800,
            allow_inf_nan=False,
            description="Seconds between points. Default: about 100 points.",
        ),
    ] = None


class SysmonReport(Arguments):
    """Which reports of the directory."""

    path: Annotated[
        str,
        Field(max_length=500, description="A file below the directory of reports. Default: list the files."),
    ] = ""
    against: Annotated[
        str, Field(max_length=500, description="An earlier report to compare with: what changed since.")
    ] = ""
