"""`ase-exporter advise`: watches a server and prints what eases what is wrong with it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ase_exporter import logs
from ase_exporter.advise import report
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.advise.host_cpu import cpu_flags, flags_of_host
from ase_exporter.commands.options import (
    AskPassword,
    ConfigFile,
    LoginName,
    SecondsPerSpin,
    TargetName,
    choose_target,
    format_option,
    load_config,
    progress_bar,
)
from ase_exporter.top.gathering import gather
from ase_exporter.untrusted.terminal import PlainConsole


def advise(
    config_file: ConfigFile = None,
    target: TargetName = None,
    user: LoginName = None,
    password: AskPassword = False,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="Seconds to watch the server.")] = 30.0,
    cpuinfo: Annotated[
        Path | None,
        typer.Option(help="A copy of /proc/cpuinfo of the database host, if that is another machine."),
    ] = None,
    seconds_per_spin: SecondsPerSpin = None,
    output: Annotated[Literal["terminal", "markdown", "json"], format_option()] = "terminal",
) -> None:
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    flags = cpu_flags(cpuinfo) if cpuinfo else flags_of_host(chosen.host)
    # An error is told once, at the end.
    logs.configure("text", "error")
    with progress_bar() as bar:
        bar.add_task(f"Watching {chosen.name} for {seconds:g} s", total=None)
        evidence = gather(loaded, chosen, seconds, seconds_per_spin)
    advice = weigh(replace(evidence, cpu_flags=flags), seconds_per_spin)
    if output == "terminal":
        PlainConsole().print(report.terminal(advice))
    else:
        print(report.markdown(advice) if output == "markdown" else report.as_json(advice), end="")
