"""`ase-exporter advise`: watches a server and prints what eases what is wrong with it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

from ase_exporter import logs
from ase_exporter.advise import report
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.commands.options import choose_target, load_config, progress_bar
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_text
from ase_exporter.top.gathering import gather
from ase_exporter.untrusted.terminal import PlainConsole


def advise(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    seconds: float = 30.0,
    cpuinfo: Path | None = None,
    seconds_per_spin: float | None = None,
    form: Literal["terminal", "markdown", "json"] = "terminal",
) -> None:
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    flags = cpu_flags(cpuinfo) if cpuinfo else None
    # An error is told once, at the end.
    logs.configure("text", "error")
    with progress_bar() as bar:
        bar.add_task(f"Watching {chosen.name} for {seconds:g} s", total=None)
        evidence = gather(loaded, chosen, seconds, seconds_per_spin)
    advice = weigh(replace(evidence, cpu_flags=flags), seconds_per_spin)
    if form == "terminal":
        PlainConsole().print(report.terminal(advice))
    else:
        print(report.markdown(advice) if form == "markdown" else report.as_json(advice), end="")


def cpu_flags(cpuinfo: Path) -> frozenset[str]:
    """The CPU flags in a /proc/cpuinfo, which decide whether transactional memory (TSX) can be used.

    Raises UserError if the file is none.
    """
    try:
        found = re.search(r"^(?:flags|Features)\s*:(.*)$", read_text(cpuinfo), re.MULTILINE)
    except OSError as error:
        raise UserError(f"--cpuinfo: {cpuinfo}: {error.strerror}") from error
    if found is None:
        raise UserError(f"--cpuinfo: {cpuinfo}: expected a copy of /proc/cpuinfo of the database host")
    return frozenset(found[1].split())
