"""`ase-exporter hugepages`: required huge pages, and what to set on this host."""

from pathlib import Path

from ase_exporter.commands.options import choose_target, end_if_stuck, load_config
from ase_exporter.config.host import HostConfig
from ase_exporter.errors import UserError
from ase_exporter.host.ase_memory import query_memory
from ase_exporter.host.files import NotOfferedError
from ase_exporter.host.process import ProcessCollector
from ase_exporter.host.sizing import DEFAULT_PAGE, parse_page_size, requirement
from ase_exporter.host.state import ServerState, read_host
from ase_exporter.host.view import hugepages_view
from ase_exporter.views.terminal import print_view


def hugepages(
    max_memory: int | None = None,
    page_size: str | None = None,
    headroom: int = 512,
    server: str | None = None,
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    timeout: float = 10.0,
) -> None:
    config = load_config(config_file)
    settings = config.host or HostConfig()
    if not (settings.procfs / "meminfo").exists():
        raise UserError(f"host.procfs: {settings.procfs}: expected a mounted procfs, but it has no meminfo")
    host = read_host(str(settings.procfs), str(settings.sysfs), _servers(settings))
    size = parse_page_size(page_size) if page_size else host.default_size or DEFAULT_PAGE
    if max_memory is not None:
        pages, source = max_memory, "--max-memory"
    elif config.targets or target or user or password:
        end_if_stuck()
        config, chosen = choose_target(config, target, user, password)
        pages, source, name = query_memory(chosen, config.auth[chosen.auth], timeout)
        server = server or name
    else:
        raise UserError("expected a target to query (--config.file), or --max-memory PAGES")
    need = requirement(pages, page_size=size, headroom=headroom, source=source, server=server)
    print_view(hugepages_view(need, host))


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
