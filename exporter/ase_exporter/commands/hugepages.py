"""`ase-exporter hugepages`: required huge pages, their settings, and a check of this host."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.commands.options import ConfigFile, TargetName, choose_target, load_config
from ase_exporter.config import Config
from ase_exporter.config.host import HostConfig
from ase_exporter.errors import UserError
from ase_exporter.host.ase_memory import query_memory
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.process import ProcessCollector
from ase_exporter.host.report import PageTables, as_data, print_report
from ase_exporter.host.sizing import AseMemory, Requirement, requirement
from ase_exporter.host.verdict import ServerState
from ase_exporter.host.verdict_metrics import read_host


def hugepages(
    max_memory: Annotated[
        int | None, typer.Option("--max-memory", metavar="PAGES", help="ASE's `max memory`, in 2 KiB pages.")
    ] = None,
    total_logical_memory: Annotated[
        int | None,
        typer.Option(
            "--total-logical-memory",
            metavar="PAGES",
            help="Memory that ASE allocates at start unless `allocate max shared memory` is 1, in 2 KiB pages.",
        ),
    ] = None,
    allocate_max_shared_memory: Annotated[
        bool, typer.Option("--allocate-max-shared-memory", help="`allocate max shared memory` is 1.")
    ] = False,
    memory: Annotated[
        int | None, typer.Option("--memory", metavar="BYTES", help="Shared memory of another database.")
    ] = None,
    page_size: Annotated[
        str, typer.Option("--page-size", metavar="2MiB|1GiB", help="Huge page size.")
    ] = "2MiB",
    headroom: Annotated[
        int, typer.Option("--headroom", metavar="PAGES", help="Headroom for growth, in 2 MiB pages.")
    ] = 512,
    server: Annotated[
        str | None,
        typer.Option("--server", help="Check this server's process (server name or data directory)."),
    ] = None,
    touched_gib: Annotated[
        float | None,
        typer.Option("--touched-gib", help="Touched memory to compute page tables for (default: all)."),
    ] = None,
    processes: Annotated[
        int,
        typer.Option(
            "--processes", help="Number of processes that map the memory; each has its own page tables."
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config_file: ConfigFile = None,
    target: TargetName = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Timeout for querying ASE, in seconds.")] = 10.0,
    procfs: Annotated[
        Path | None, typer.Option("--path.procfs", help="Mount point of the host's /proc (default: /proc).")
    ] = None,
    sysfs: Annotated[
        Path | None, typer.Option("--path.sysfs", help="Mount point of the host's /sys (default: /sys).")
    ] = None,
) -> None:
    """Without a memory option, the configured target is queried: total logical memory, or max memory if `allocate
    max shared memory` is 1. Without a target, `host: required:` of the configuration applies.
    """
    loaded = load_config(config_file)
    settings = loaded.host or HostConfig()
    settings = replace(settings, procfs=procfs or settings.procfs, sysfs=sysfs or settings.sysfs)
    if memory is not None:
        if max_memory is not None or total_logical_memory is not None:
            raise UserError("--memory is for other databases: expected it without --max-memory")
        required = requirement(
            memory_bytes=memory, page_size=page_size, headroom=headroom, source="--memory", server=server
        )
    elif max_memory is None and total_logical_memory is None:
        required = _configured(loaded, settings, target, timeout, page_size, headroom, server)
    else:
        ase = _ase_memory(max_memory, total_logical_memory, allocate_max_shared_memory)
        required = _for_ase(ase, page_size, headroom, server)
    tables = _page_tables(required, touched_gib, processes)
    if not (settings.procfs / "meminfo").exists():
        raise UserError(f"--path.procfs {settings.procfs}: expected a mounted procfs, but it has no meminfo")
    host = read_host(str(settings.procfs), str(settings.sysfs), _servers(settings))
    if as_json:
        print(json.dumps(as_data(required, host, tables), indent=2))
    else:
        print_report(required, host, tables)


def _ase_memory(max_memory: int | None, total_logical_memory: int | None, allocate_max: bool) -> AseMemory:
    """Return the memory that the options describe; --max-memory alone is used as given."""
    if total_logical_memory is None:
        return AseMemory(0, max_memory or 0, True, "--max-memory")
    if allocate_max and max_memory is None:
        raise UserError(
            "--allocate-max-shared-memory: ASE then allocates max memory: expected --max-memory too"
        )
    return AseMemory(total_logical_memory, max_memory or 0, allocate_max)


def _for_ase(ase: AseMemory, page_size: str, headroom: int, server: str | None) -> Requirement:
    return requirement(
        ase_memory=ase.pages, page_size=page_size, headroom=headroom, source=ase.source, server=server
    )


def _configured(
    loaded: Config,
    settings: HostConfig,
    target: str | None,
    timeout: float,
    page_size: str,
    headroom: int,
    server: str | None,
) -> Requirement:
    """Return the requirement of the queried target, or the one configured for the host."""
    if loaded.targets:
        chosen = choose_target(loaded, target)
        server_memory = query_memory(chosen, loaded.auth[chosen.auth], timeout)
        return _for_ase(server_memory.memory, page_size, headroom, server or server_memory.server)
    if settings.required is not None:
        return requirement(**asdict(settings.required), source="configured", server=server)
    raise UserError("expected a target to query (--config.file), --max-memory PAGES or --memory BYTES")


def _page_tables(required: Requirement, touched_gib: float | None, processes: int) -> PageTables:
    if processes < 1:
        raise UserError(f"--processes: expected a number above 0, not {processes}")
    if touched_gib is not None and touched_gib < 0:
        raise UserError(f"--touched-gib: expected a number from 0, not {touched_gib}")
    touched = required.memory if touched_gib is None else int(touched_gib * 1024**3)
    return PageTables(touched, processes, required.page_size)


def _servers(settings: HostConfig) -> tuple[ServerState, ...]:
    """Return all servers' states, with smaps read now."""
    collector = ProcessCollector(str(settings.procfs), settings.processes, smaps_interval=3600)
    try:
        list(collector.collect())
        collector.wait()
        list(collector.collect())
    except NotOfferedError:
        return ()
    return collector.servers
