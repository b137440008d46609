"""A real PostgreSQL: its use of huge pages is detected, and its requirement computed correctly."""

import json
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.host.kernel_settings import NR_HUGEPAGES, KernelSettings
from tests.exporter.host.kernels import settled
from tests.exporter.host.postgres import Postgres, postgres

from ase_exporter.config.host import HostConfig, Required
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.sizing import requirement

MIB = 1024**2
PAGE = 2 * MIB


def shared_memory(server: Postgres) -> tuple[int, int]:
    """The server's own figures: bytes of its shared memory (rounded up to MiB), and the huge pages for it."""
    size = server.run("psql", "-Atc", "select setting from pg_settings where name = 'shared_memory_size'")
    pages = server.run("psql", "-Atc", "show shared_memory_size_in_huge_pages")
    return int(size) * MIB, int(pages)


def verdict(run: Run, server: Postgres, memory: int) -> dict[str, bool]:
    """The command's verdict on this server: state -> whether it holds."""
    result = run("hugepages", f"--memory={memory}", "--headroom=0", f"--server={server.directory}", "--json")
    assert result.returncode == 0, result.stderr
    return {check["state"]: check["holds"] for check in json.loads(result.stdout)["verdict"]}


def scrape(memory: int) -> dict[str, float]:
    """The host's metrics with a configured requirement, after smaps has been read."""
    return settled(HostCollectors(HostConfig(required=Required(memory_bytes=memory, headroom=0))))


@pytest.mark.parametrize("huge", [True, False], ids=["huge pages", "small pages"])
def test_the_use_of_huge_pages_is_detected(run: Run, kernel: KernelSettings, huge: bool) -> None:
    kernel.pages(NR_HUGEPAGES, 64)
    with postgres(huge_pages="on" if huge else "off", shared_buffers="64MB") as server:
        memory, pages = shared_memory(server)
        assert requirement(memory_bytes=memory, headroom=0).pages == pages
        seen, states = scrape(memory), verdict(run, server, memory)
        labels = f"postgres,{server.directory}"
        assert (seen[f"dbhost_process_hugetlb_bytes{{{labels}}}"] > 0) is huge
        assert seen["dbhost_hugepages_required{2048kB}"] == pages
        assert seen["dbhost_hugepages_state{enough}"] == 1
        assert seen["dbhost_hugepages_state{not_used}"] == (not huge)
        assert states["not_used"] is not huge
        assert states["memlock_low"] == (not huge and _memlock(server) < pages * PAGE)
        if huge:
            assert states["enough"]
            assert seen[f"dbhost_process_hugetlb_mapped_bytes{{{labels},2048kB}}"] == pages * PAGE
            taken = 64 - seen["dbhost_hugepages_free{2048kB}"] + seen["dbhost_hugepages_reserved{2048kB}"]
            assert taken == pages
            assert seen["dbhost_hugepages_stranded{2048kB}"] == 64 - pages


def _memlock(server: Postgres) -> float:
    limits = Path(f"/proc/{server.pid}/limits").read_text()
    soft = limits[limits.index("Max locked memory") :].split()[3]
    return float("inf") if soft == "unlimited" else float(soft)
