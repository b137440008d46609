"""`ase-exporter capture`: record what a server answers to the exporter, without names, in a file to send."""

import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ase_exporter import logs
from ase_exporter.capture.file import Capture, dump
from ase_exporter.capture.privacy import with_pseudonyms
from ase_exporter.capture.session import Plan, take_capture
from ase_exporter.catalogue import load_catalogue
from ase_exporter.commands.options import (
    choose_target,
    end_if_stuck,
    load_config,
    off_main_thread,
    require_output,
    write_output,
)
from ase_exporter.config import Config, Target
from ase_exporter.errors import UserError
from ase_exporter.untrusted.terminal import PlainConsole, TextLine


def capture(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    output: Path | None = None,
    scrapes: int = 5,
    interval: float = 15.0,
    timeout: float = 30.0,
    everything: bool = False,
    sysmon: float = 0.0,
    keep_names: bool = False,
) -> None:
    if output is None:
        raise UserError("capture: expected --output FILE")
    require_output(output)
    logs.configure("text", "error")
    end_if_stuck()
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    catalogue, _ = load_catalogue()
    plan = Plan(scrapes, interval, timeout, everything, round(sysmon))
    taken = off_main_thread(lambda: take_capture(loaded, chosen, catalogue, plan, _print_progress))
    replaced = 0
    if not keep_names:
        taken, pseudonyms = with_pseudonyms(taken, secrets.token_bytes(32), _names(loaded, chosen))
        replaced = len(pseudonyms)
    data = dump(taken)
    console = PlainConsole(stderr=True)
    for line in _summary(taken, len(data), replaced):
        console.print(TextLine(line))
    write_output(output, data)
    print(f"written: {output}", file=sys.stderr)


def _names(config: Config, target: Target) -> list[str]:
    """Names that errors may mention, of which ASE may use the words, too."""
    logins = {target.auth, *([target.sysmon.auth] if target.sysmon else [])}
    return [target.name, target.host, *(config.auth[login].user for login in sorted(logins))]


def _print_progress(step: str, _: object) -> None:
    print(step, file=sys.stderr, flush=True)


def _summary(capture: Capture, size: int, replaced: int) -> Iterator[str]:
    errors = Counter(each.error.text for each in capture.statements if each.error)
    seconds = sum(each.seconds for each in capture.statements)
    yield (
        f"Scrapes: {capture.header.scrapes}; statements: {len(capture.statements):,}; time that the server took:"
        f" {seconds:.2f} s"
    )
    for text, count in errors.most_common(10):
        yield f"  error ({count} x): {text[:150]}"
    if capture.header.names == "pseudonyms":
        yield f"  words replaced by pseudonyms: {replaced:,}; zcat prints everything that is in the file"
    else:
        yield "  names are kept: do not publish this file"
    yield f"  {size:,} bytes"
