"""A journal in a process of its own, to be killed. Its one target has the options that a JSON file says."""

import asyncio
import json
import sys
import time
from pathlib import Path

from ase_exporter.changes.config import ChangesConfig, GrafanaConfig
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import Look, Part, Setting, encode


def look_at(options: dict[str, str]) -> Look:
    """A look at a server with these options."""
    objects = {name: {"": Setting(value, value)} for name, value in options.items()}
    return Look(time.time(), encode({"option": Part("option", "sysconfigures", objects)}))


async def run(directory: Path, grafana_url: str, token_file: Path, options: Path) -> None:
    """Look every 20 ms until killed."""
    grafana = GrafanaConfig(url=grafana_url, token_file=token_file, timeout=0.6, longest_pause=0.2)
    journal = Journal(ChangesConfig(grafana=grafana), directory)
    await journal.start()
    while True:
        journal.on_look("PROD", look_at(json.loads(options.read_text())))
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
