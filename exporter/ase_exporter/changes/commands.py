"""`ase-exporter changes` and `ase-exporter annotate`.

What speaks HTTP is imported when a command runs: httpx would make every command start later.
"""

import csv
import getpass
import json
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ase_exporter.changes.change import ANNOTATION, HOST, Change, clock, new_id
from ase_exporter.changes.config import GrafanaConfig
from ase_exporter.changes.filters import MOST, parse_filter
from ase_exporter.changes.store import read_history
from ase_exporter.errors import UserError

DEFAULT_URL = "http://127.0.0.1:10150"
_COLUMNS = ("seen", "not before", "end", "target", "kind", "name", "from", "to", "who", "tags")


class Format(StrEnum):
    """How the changes are printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


Url = Annotated[str, typer.Option("--url", envvar="ASE_EXPORTER_URL", help="Where the exporter serves.")]
User = Annotated[
    str, typer.Option("--user", envvar="ASE_EXPORTER_USER", help="For an exporter with web authentication.")
]
PasswordFile = Annotated[
    Path | None, typer.Option("--password-file", envvar="ASE_EXPORTER_PASSWORD_FILE", help="That user's.")
]
CaFile = Annotated[
    Path | None, typer.Option("--ca-file", help="Authority that signed the server's certificate (PEM).")
]


def changes(
    state_directory: Annotated[
        Path | None, typer.Option("--state-dir", help="Read this directory instead of asking the exporter.")
    ] = None,
    url: Url = DEFAULT_URL,
    user: User = "",
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    target: Annotated[str, typer.Option(help=f"Only this target's; {HOST} is the machine.")] = "",
    kind: Annotated[str, typer.Option(help="Only of this kind: option, cache, restart, annotation…")] = "",
    text: Annotated[str, typer.Option(help="Only those that contain this.")] = "",
    since: Annotated[str, typer.Option(help="2h (ago), a date, a date and time, or Unix seconds.")] = "",
    until: Annotated[str, typer.Option(help="Likewise.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="At most so many, the newest.")] = 100,
    output: Annotated[Format, typer.Option("--format", help="How to print them.")] = Format.TABLE,
) -> None:
    """List what changed: settings, caches, engines, restarts, the machine, and annotations."""
    words = {
        "target": target,
        "kind": kind,
        "text": text,
        "since": since,
        "until": until,
        "limit": str(limit),
    }
    wanted = parse_filter(words, limit)
    if state_directory is not None:
        found = [change.json() for change in read_history(state_directory, wanted)]
    else:
        # Times are worked out here, so that "2h" counts from the user's now.
        asked = {name: word for name, word in words.items() if word} | {"format": "json"}
        asked |= {"since": str(wanted.since)} if wanted.since is not None else {}
        asked |= {"until": str(wanted.until)} if wanted.until is not None else {}
        from ase_exporter.changes.annotate import ExporterDesk

        desk = ExporterDesk(url, user, password_file, ca_file)
        found = desk.ask("GET", "/changes", params=asked).json()
    _print(found, output)


def annotate(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT | -- COMMAND…", help="What to say, or what to run.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Mark start and finish around a command; its exit code is kept."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    target: Annotated[str, typer.Option(help="Which target it concerns; left out, all.")] = "",
    start: Annotated[bool, typer.Option("--start", help="Begin a region; prints its id.")] = False,
    finish: Annotated[str, typer.Option(metavar="ID", help="End the region that --start began.")] = "",
    failed: Annotated[str, typer.Option(metavar="REASON", help="With --finish: it failed.")] = "",
    url: Url = DEFAULT_URL,
    user: User = "",
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    grafana_url: Annotated[
        str, typer.Option(envvar="GRAFANA_URL", help="Post straight to this Grafana, not to the exporter.")
    ] = "",
    grafana_token_file: Annotated[
        Path | None, typer.Option(envvar="GRAFANA_TOKEN_FILE", help="A service account's token.")
    ] = None,
) -> None:
    """Put something you do on every graph.

    ase-exporter annotate "Started ALTER" --tag ddl

    ase-exporter annotate --run "reorg rebuild trades" -- isql -i reorg.sql
    """
    from ase_exporter.changes.annotate import Desk, ExporterDesk, GrafanaDesk, run_marked
    from ase_exporter.changes.journal import MAINTENANCE

    desk: Desk = ExporterDesk(url, user, password_file, ca_file)
    if grafana_url:
        desk = GrafanaDesk(_grafana(grafana_url, grafana_token_file, ca_file))
    said = words or []
    if finish:
        if said or run or start:
            raise UserError("annotate: --finish takes no text, no --run and no --start")
        desk.finish(finish, time.time(), failed)
        return
    if MAINTENANCE in (tag or ()) and run is None and not start:
        raise UserError(f"annotate: --tag {MAINTENANCE}: expected --start or --run, so that it has an end")
    if failed:
        raise UserError("annotate: --failed: expected --finish ID with it")
    if run is not None:
        if not said:
            raise UserError("annotate: --run: expected a command after --")
        if start:
            raise UserError("annotate: expected either --run or --start")
        raise typer.Exit(run_marked(desk, _change(run, target, tag), said, _warn))
    if len(said) != 1:
        raise UserError("annotate: expected one TEXT; put it in quotes")
    change = _change(said[0], target, tag)
    desk.annotate(change)
    print(change.id if start else "Annotation posted.")


def _change(text: str, target: str, tags: Sequence[str] | None) -> Change:
    if not text.strip():
        raise UserError("annotate: expected a text that says something")
    return Change(
        id=new_id(),
        target=target,
        kind=ANNOTATION,
        name=text.strip(),
        old="",
        new="",
        at=time.time(),
        who=_who(),
        source="hand",
        tags=tuple(tags or ()),
    )


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _grafana(url: str, token_file: Path | None, ca_file: Path | None) -> GrafanaConfig:
    if token_file is None:
        raise UserError("--grafana-url: expected --grafana-token-file, too")
    try:
        given = {"url": url, "token_file": token_file, "ca_file": ca_file}
        return TypeAdapter(GrafanaConfig).validate_python(given)
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(f"--grafana-url: {message}") from error


def _warn(text: str) -> None:
    print(f"ase-exporter: {text}", file=sys.stderr)


def _print(found: Sequence[dict[str, Any]], output: Format) -> None:
    if output is Format.JSON:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = [_row(change) for change in found]
    if output is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(rows)
    elif output is Format.MARKDOWN:
        for row in (_COLUMNS, ["---"] * len(_COLUMNS), *rows):
            print("| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row) + " |")
    else:
        _print_table(found)


def _row(change: dict[str, Any]) -> list[str]:
    return [
        clock(change["at"]),
        "" if change["not_before"] is None else clock(change["not_before"]),
        "" if change["end"] is None else clock(change["end"]),
        _whose(change),
        change["kind"],
        " ".join(change["name"].split()),
        change["old"],
        change["new"],
        change["who"],
        " ".join(change["tags"]),
    ]


def _whose(change: dict[str, Any]) -> str:
    return str(change["target"]) or ("" if change["kind"] == ANNOTATION else HOST)


def _print_table(found: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("When (UTC)", no_wrap=True)
    for name in ("Target", "Kind", "What", "From", "To", "Who"):
        table.add_column(name, overflow="fold")
    for change in found:
        when = clock(change["at"]).replace("T", " ").removesuffix("Z")
        if change["end"] is not None:
            when += f" +{change['end'] - change['at']:.0f}s"
        what = change["name"] + "".join(f" #{tag}" for tag in change["tags"])
        cells = [when, _whose(change), change["kind"], what, change["old"], change["new"], change["who"]]
        table.add_row(*(Text(cell) for cell in cells))
    Console().print(table)
    if not found:
        print("No changes are known.")
