"""All families of the host collectors: from a host that has everything, with a perf that has every problem."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.exporter.host.kernels import DATASERVER, NUMA_HOST, Files, meminfo, settled, write_files
from tests.exporter.host.perf_stand_in import StandIn
from tests.programs import START

from ase_exporter.config.host import Collectors, HostConfig, Perf
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.declared import keys
from ase_exporter.metrics.families import Family

_THP = "sys/kernel/mm/transparent_hugepage"
EVERYTHING: Files = {
    **NUMA_HOST,
    **DATASERVER,
    **meminfo(MemTotal=1, Hugetlb=1, AnonHugePages=1, ShmemHugePages=1, FileHugePages=1, PageTables=1),
    "proc/11/status": "".join(f"{line}:\t1 kB\n" for line in keys("status")),
    "proc/interrupts": "TLB:  1  2  TLB shootdowns\n",
    "proc/vmstat": NUMA_HOST["proc/vmstat"]
    + "".join(
        f"{event} 1\n"
        for event in (
            "compact_stall",
            "compact_fail",
            "compact_success",
            "compact_daemon_wake",
            "thp_fault_alloc",
            "htlb_buddy_alloc_success",
            *keys("tlb"),
        )
    ),
    "proc/sys/kernel/perf_event_paranoid": "2\n",
    f"{_THP}/enabled": "always [madvise] never\n",
    f"{_THP}/defrag": "always [madvise] never\n",
    f"{_THP}/shmem_enabled": "always [never]\n",
    f"{_THP}/use_zero_page": "1\n",
    f"{_THP}/hpage_pmd_size": "2097152\n",
    f"{_THP}/hugepages-64kB/enabled": "always inherit [never]\n",
    **{f"{_THP}/khugepaged/{file}": "1\n" for file in keys("khugepaged")},
    "sys/devices/system/node/node0/meminfo": "".join(
        f"Node 0 {line}:  1 kB\n" for line in keys("node_meminfo")
    ),
}


def families() -> dict[str, Family]:
    """The families by name."""
    with TemporaryDirectory() as directory:
        stand_in = StandIn(Path(directory))
        try:
            return _collected(stand_in)
        finally:
            stand_in.close()


def _collected(stand_in: StandIn) -> dict[str, Family]:
    write_files(stand_in.root, EVERYTHING)
    stand_in.play("1.0,800,,dTLB-loads,1,25.00,,", "1.0,<not counted>,,cycles,0,100.00,,", "EXIT 1")
    host = HostCollectors(
        HostConfig(
            procfs=stand_in.root / "proc",
            sysfs=stand_in.root / "sys",
            collectors=Collectors(perf=True),
            perf=Perf(binary=str(stand_in.program), interval=0.1),
        )
    )
    try:
        settled(host)
        assert host.perf
        perf = host.perf
        with perf.changed:
            assert perf.changed.wait_for(lambda: perf.problem and perf.counted_seconds, START)
        found = {family.name: family for family in host.collect()}
    finally:
        host.close()
    (stand_in.root / "proc/interrupts").unlink()
    (stand_in.root / "proc/vmstat").unlink()
    bare = HostConfig(procfs=stand_in.root / "proc", sysfs=stand_in.root / "sys")
    return found | {family.name: family for family in HostCollectors(bare).collect()}
