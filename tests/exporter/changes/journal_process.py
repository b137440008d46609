"""A journal in a separate process, to be killed. Its one target has the options of a JSON file."""

import asyncio
import json
import sys
import time
from pathlib import Path

from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import ConfigSnapshot, Part, Setting, encode
from ase_exporter.config.changes import ChangesConfig, GrafanaConfig


def snapshot_of(options: dict[str, str]) -> ConfigSnapshot:
    """A snapshot of a server with these options."""
    objects = {name: {"": Setting(value, value)} for name, value in options.items()}
    return ConfigSnapshot(time.time(), encode({"option": Part("option", "sysconfigures", objects)}))


async def run(directory: Path, grafana_url: str, token_file: Path, options: Path) -> None:
    """Take a snapshot every 20 ms until killed."""
    grafana = GrafanaConfig(url=grafana_url, token_file=token_file, timeout=0.6, max_backoff=0.2)
    journal = Journal(ChangesConfig(grafana=grafana), directory)
    await journal.start()
    while True:
        journal.on_snapshot("PROD", snapshot_of(json.loads(options.read_text())))
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
