"""`ase-exporter advise`: what eases what is wrong with a server, watched now or by a running exporter."""

import os
from pathlib import Path

import typer

from ase_exporter import logs
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.advise.view import advice_view
from ase_exporter.commands.options import choose_target, end_if_stuck, load_config, tell
from ase_exporter.errors import NoDataError, UserError
from ase_exporter.top.feed import gather
from ase_exporter.untrusted.terminal import PlainConsole, TextLine
from ase_exporter.views.terminal import print_view


def advise(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    seconds: float = 30.0,
    url: str | None = None,
    exporter_user: str = "",
    password_file: Path | None = None,
    ca_file: Path | None = None,
) -> None:
    if url:
        if user or password:
            raise UserError("--url: an exporter has logins of its own: expected neither -U nor -P")
        is_known = _of_exporter(target, url, exporter_user, password_file, ca_file)
    else:
        end_if_stuck()
        loaded, chosen = choose_target(load_config(config_file), target, user, password)
        # An error is told once, at the end.
        logs.configure("text", "error")
        tell(f"watching {chosen.name} for {seconds:g} s")
        evidence = gather(loaded, chosen, seconds)
        found = weigh(evidence)
        print_view(advice_view(found))
        is_known = found.is_known
    if not is_known:
        raise typer.Exit(1)


def _of_exporter(
    target: str | None, url: str, user: str, password_file: Path | None, ca_file: Path | None
) -> bool:
    """Print what an exporter advises; returns whether it has read enough. Raises UserError."""
    # httpx2 is loaded only when it is needed: it would delay the start of every command.
    from ase_exporter.changes.annotate import ExporterClient
    from ase_exporter.compare.marks import ask_exporter, target_named

    exporter = ExporterClient(url, user, password_file, ca_file)
    name = target_named(exporter, target or os.environ.get("DSQUERY"))
    found = ask_exporter(exporter, "/advice", {"target": name, "format": "text"})
    if not isinstance(found, dict) or not isinstance(lines := found.get("lines"), list):
        raise UserError("--url: not an answer of ase-exporter to /advice")
    if not lines:
        raise NoDataError(f"-S {name}: the exporter has not scraped it yet, or it does not answer")
    PlainConsole().print(*(TextLine(str(line), whole=True) for line in lines), sep="\n")
    return bool(found.get("is_known"))
