"""`ase-exporter changes`: the history of changes of a running exporter."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ase_exporter.changes.change import ANNOTATION, HOST, Change
from ase_exporter.changes.filters import parse_filter
from ase_exporter.commands.options import defaults, source_url
from ase_exporter.views.figures import duration, moment, zone
from ase_exporter.views.terminal import print_view
from ase_exporter.views.view import Heading, Table, View

Format = Literal["table", "json"]


def changes(
    url: str | None = None,
    exporter_user: str = "",
    password_file: Path | None = None,
    ca_file: Path | None = None,
    target: str | None = None,
    kind: str = "",
    text: str = "",
    since: str = "",
    until: str = "",
    limit: int = 100,
    form: Format = "table",
    config_file: Path | None = None,
) -> None:
    words = {
        "target": target or "",
        "kind": kind,
        "text": text,
        "since": since,
        "until": until,
        "limit": str(limit),
    }
    wanted = parse_filter(words, limit, mark="--")
    # Relative times are resolved here, so that "2h" counts from the user's clock.
    query = {name: word for name, word in words.items() if word} | {"format": "json"}
    query |= {"since": str(wanted.since)} if wanted.since is not None else {}
    query |= {"until": str(wanted.until)} if wanted.until is not None else {}
    # httpx2 is loaded only when it is needed: it would delay the start of every command.
    from ase_exporter.changes.annotate import ExporterClient
    from ase_exporter.compare.marks import changes_of

    url = source_url("exporter", url, defaults(config_file, url))
    client = ExporterClient(url, exporter_user, password_file, ca_file)
    found = changes_of(client, query)
    if form == "json":
        print(json.dumps([change.json() for change in found], indent=2, ensure_ascii=False))
    else:
        print_view(changes_view(found))


def changes_view(found: Sequence[Change]) -> View:
    """Changes, each as a time and a text."""
    columns = [Heading(f"When ({zone(*(each.at for each in found))})", whole=True), Heading("Change")]
    rows = [(_when(change), _what(change)) for change in found]
    return View("Changes", [Table(columns, rows, empty="No changes found.")])


def _when(change: Change) -> str:
    lasted = "" if change.end is None else f" +{duration(change.end - change.at)}"
    return moment(change.at) + lasted


def _what(change: Change) -> str:
    target = change.target or ("" if change.kind == ANNOTATION else HOST)
    words = [target, change.kind, change.name, *(f"#{tag}" for tag in change.tags)]
    values = f": {change.old or '-'} -> {change.new or '-'}" if change.old or change.new else ""
    who = f" ({change.who})" if change.who else ""
    unsure = "" if change.not_before is None else f" (not yet at {moment(change.not_before)})"
    return " ".join(filter(None, words)) + values + who + unsure
