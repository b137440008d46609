"""The command `ase-exporter top`.

The view is imported when the command runs, because it loads rich and, for the screen, textual.
"""

from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.commands.durations import duration_option
from ase_exporter.commands.options import ConfigFile


def top(
    config_file: ConfigFile = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="Name of a target in the configuration; may be repeated. Default: all."),
    ] = None,
    interval: Annotated[
        float | None,
        duration_option(
            "--interval",
            show_default="2s, or 10s with --once",
            help="Time between samples, 1s to 60s; with --replay, as recorded.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Take two samples, print the figures between them and end.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line, server and sample.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            help="Also write every answer to a file, such as incident.capture.gz, with all names (one target).",
        ),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", help="Show a recorded file again instead of a server.")
    ] = None,
    seconds_per_spin: Annotated[
        float | None,
        typer.Option(
            min=1e-12,
            max=1e-3,
            help="CPU seconds of one spin, if calibrated (spinlock.seconds_per_spin of the alert parameters).",
        ),
    ] = None,
) -> None:
    """Watch servers in the terminal, without Prometheus: do they work or spin, and on which spinlock?

    One connection for each server, mon_role alone. On a pipe it prints one report, as with --once.
    """
    from ase_exporter.commands.top_output import Options, run

    run(
        Options(
            config_file=config_file,
            targets=target or [],
            interval=interval,
            once=once,
            as_json=as_json,
            record=record,
            replay=replay,
            seconds_per_spin=seconds_per_spin,
        )
    )
