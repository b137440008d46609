"""`ase-exporter annotate`: an annotation, or a region of time, on every graph."""

import getpass
import time
from pathlib import Path

from ase_exporter.changes.change import annotation
from ase_exporter.commands.options import defaults, source_url
from ase_exporter.errors import UserError


def annotate(
    words: list[str] | None = None,
    tag: list[str] | None = None,
    target: str = "",
    start: bool = False,
    finish: str = "",
    failed: str = "",
    url: str | None = None,
    exporter_user: str = "",
    password_file: Path | None = None,
    ca_file: Path | None = None,
    config_file: Path | None = None,
) -> None:
    # httpx2 is loaded only when it is needed: it would delay the start of every command.
    from ase_exporter.changes.annotate import ExporterClient
    from ase_exporter.changes.journal import MAINTENANCE

    texts, tags = words or [], tag or []
    text = " ".join(texts)
    conflicts = {
        "--finish: expected an id alone, without a text and without --start": finish and (text or start),
        "--failed: expected --finish ID with it": failed and not finish,
        "expected one TEXT; put it in quotes": not finish and len(texts) != 1,
        "expected a text that is not blank": not finish and not text.strip(),
        f"--tag {MAINTENANCE}: expected --start, so that it has an end": MAINTENANCE in tags and not start,
    }
    for problem, found in conflicts.items():
        if found:
            raise UserError(f"annotate: {problem}")
    url = source_url("exporter", url, defaults(config_file, url))
    client = ExporterClient(url, exporter_user, password_file, ca_file)
    if finish:
        client.finish(finish, time.time(), failed)
        return
    change = annotation(text.strip(), time.time(), target=target, who=_user_name(), tags=tuple(tags))
    client.annotate(change)
    print(change.id if start else "Annotation posted.")


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
