"""`ase-exporter hugepages`: required huge pages, their settings, and a check of this host."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from ase_exporter.commands.options import choose_target, load_config
from ase_exporter.config import Config
from ase_exporter.config.host import HostConfig
from ase_exporter.errors import UserError
from ase_exporter.host.ase_memory import query_memory
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.process import ProcessCollector
from ase_exporter.host.report import as_data, page_tables, print_hugepages
from ase_exporter.host.sizing import Requirement, requirement
from ase_exporter.host.verdict import ServerState, read_host


def hugepages(
    max_memory: int | None = None,
    memory: int | None = None,
    page_size: str = "2MiB",
    headroom: int = 512,
    server: str | None = None,
    touched_gib: float | None = None,
    as_json: bool = False,
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    timeout: float = 10.0,
    procfs: Path | None = None,
    sysfs: Path | None = None,
) -> None:
    loaded = load_config(config_file)
    if target or user or password:
        loaded, chosen = choose_target(loaded, target, user, password)
        loaded = replace(loaded, targets=(chosen,))
    settings = loaded.host or HostConfig()
    settings = replace(settings, procfs=procfs or settings.procfs, sysfs=sysfs or settings.sysfs)
    need = partial(requirement, page_size=page_size, headroom=headroom)
    if memory is not None:
        if max_memory is not None:
            raise UserError("--memory is for other databases: expected it without --max-memory")
        required = need(memory_bytes=memory, source="--memory", server=server)
    elif max_memory is None:
        required = _configured(loaded, settings, timeout, need, server)
    else:
        required = need(ase_memory=max_memory, source="--max-memory", server=server)
    if not (settings.procfs / "meminfo").exists():
        raise UserError(f"--path.procfs {settings.procfs}: expected a mounted procfs, but it has no meminfo")
    touched = required.memory if touched_gib is None else int(touched_gib * 1024**3)
    tables = page_tables(touched, required.page_size)
    host = read_host(str(settings.procfs), str(settings.sysfs), _servers(settings))
    if as_json:
        print(json.dumps(as_data(required, host, tables), indent=2))
    else:
        print_hugepages(required, host, tables)


def _configured(
    loaded: Config,
    settings: HostConfig,
    timeout: float,
    need: Callable[..., Requirement],
    server: str | None,
) -> Requirement:
    """The requirement of the target, which is queried, or the one configured for the host."""
    if loaded.targets:
        _, chosen = choose_target(loaded, None)
        found = query_memory(chosen, loaded.auth[chosen.auth], timeout)
        return need(ase_memory=found.pages, source=found.source, server=server or found.server)
    if settings.required is not None:
        return requirement(**asdict(settings.required), source="configured", server=server)
    raise UserError("expected a target to query (--config.file), --max-memory PAGES or --memory BYTES")


def _servers(settings: HostConfig) -> tuple[ServerState, ...]:
    """All servers' states, with smaps read now."""
    collector = ProcessCollector(str(settings.procfs), settings.processes, smaps_interval=3600)
    try:
        list(collector.collect())
        collector.wait()
        list(collector.collect())
    except NotOfferedError:
        return ()
    return collector.servers
