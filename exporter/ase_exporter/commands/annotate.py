"""`ase-exporter annotate`: an annotation, or a region around a command, on every graph."""

import getpass
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.changes.change import ANNOTATION, Change, new_id
from ase_exporter.commands.options import (
    DEFAULT_URL,
    CaFile,
    ExporterPasswordFile,
    ExporterUrl,
    ExporterUser,
)
from ase_exporter.config.changes import GrafanaConfig
from ase_exporter.errors import UserError


def annotate(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT | -- COMMAND…", help="The text or, with --run, the command to run."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Run COMMAND and mark its start and end with this text; keeps its exit code."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    target: Annotated[str, typer.Option(help="Target that it concerns. Default: all.")] = "",
    start: Annotated[bool, typer.Option("--start", help="Start a region and print its id.")] = False,
    finish: Annotated[str, typer.Option(metavar="ID", help="End the region with this id.")] = "",
    failed: Annotated[
        str, typer.Option(metavar="REASON", help="With --finish: the work failed for this reason.")
    ] = "",
    url: ExporterUrl = DEFAULT_URL,
    user: ExporterUser = "",
    password_file: ExporterPasswordFile = None,
    ca_file: CaFile = None,
    grafana_url: Annotated[
        str, typer.Option(envvar="GRAFANA_URL", help="Post to this Grafana instead of to the exporter.")
    ] = "",
    grafana_token_file: Annotated[
        Path | None,
        typer.Option(envvar="GRAFANA_TOKEN_FILE", help="File with the token of a Grafana service account."),
    ] = None,
) -> None:
    """Examples:

    ase-exporter annotate "Started ALTER" --tag ddl

    ase-exporter annotate --run "reorg rebuild trades" -- isql -i reorg.sql
    """
    # httpx2 is loaded only when it is needed: it would delay the start of every command.
    from ase_exporter.changes.annotate import ExporterClient, GrafanaClient, run_annotated
    from ase_exporter.changes.journal import MAINTENANCE

    client: ExporterClient | GrafanaClient = ExporterClient(url, user, password_file, ca_file)
    if grafana_url:
        client = GrafanaClient(_grafana_config(grafana_url, grafana_token_file, ca_file))
    texts, tags = words or [], tag or []
    text = run if run is not None else " ".join(texts)
    conflicts = {
        "--finish takes no text, no --run and no --start": finish and (text or start),
        "--failed: expected --finish ID with it": failed and not finish,
        "expected either --run or --start": start and run is not None,
        "--run: expected a command after --": run is not None and not texts,
        "expected one TEXT; put it in quotes": run is None and not finish and len(texts) != 1,
        "expected a text that is not blank": not finish and not text.strip(),
        f"--tag {MAINTENANCE}: expected --start or --run, so that it has an end": MAINTENANCE in tags
        and not (start or run),
    }
    for problem, found in conflicts.items():
        if found:
            raise UserError(f"annotate: {problem}")
    if finish:
        client.finish(finish, time.time(), failed)
        return
    change = Change(
        id=new_id(),
        target=target,
        kind=ANNOTATION,
        name=text.strip(),
        old="",
        new="",
        at=time.time(),
        who=_user_name(),
        source="user",
        tags=tuple(tags),
    )
    if run is not None:
        raise typer.Exit(run_annotated(client, change, texts, _warn))
    client.annotate(change)
    print(change.id if start else "Annotation posted.")


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _grafana_config(url: str, token_file: Path | None, ca_file: Path | None) -> GrafanaConfig:
    # As with httpx2: only those who post to Grafana wait for pydantic.
    from pydantic import TypeAdapter, ValidationError

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
