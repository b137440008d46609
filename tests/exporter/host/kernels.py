"""Handwritten /proc and /sys contents of kernels other than this machine's."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ase_exporter.host.collectors import HostCollectors
from ase_exporter.metrics.families import Family

Files = Mapping[str, str]


def values(families: Iterable[Family]) -> dict[str, float]:
    """Every sample as `name{value,value}` -> number."""
    return {
        family.name + (f"{{{','.join(labels)}}}" if labels else ""): value
        for family in families
        for labels, value in family.samples
    }


def settled(host: HostCollectors) -> dict[str, float]:
    """The values after a second reading, which has smaps."""
    list(host.collect())
    assert host.process
    host.process.wait()
    return values(host.collect())


def write_files(root: Path, files: Files) -> tuple[str, str]:
    """Write the files (keys start with proc/ or sys/); return procfs and sysfs."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root / "proc"), str(root / "sys")


def pool(size_kb: int, nr: int, free: int, resv: int = 0, surplus: int = 0, overcommit: int = 0) -> Files:
    """The host's pool of one page size."""
    directory = f"sys/kernel/mm/hugepages/hugepages-{size_kb}kB"
    return {
        f"{directory}/nr_hugepages": f"{nr}\n",
        f"{directory}/free_hugepages": f"{free}\n",
        f"{directory}/resv_hugepages": f"{resv}\n",
        f"{directory}/surplus_hugepages": f"{surplus}\n",
        f"{directory}/nr_overcommit_hugepages": f"{overcommit}\n",
    }


def node_pool(node: int, size_kb: int, nr: int, free: int) -> Files:
    """One node's share of a pool: the kernel keeps no reserved pages there."""
    directory = f"sys/devices/system/node/node{node}/hugepages/hugepages-{size_kb}kB"
    return {
        f"{directory}/nr_hugepages": f"{nr}\n",
        f"{directory}/free_hugepages": f"{free}\n",
        f"{directory}/surplus_hugepages": "0\n",
    }


def meminfo(total: int = 0, free: int = 0, reserved: int = 0, **lines_kb: int) -> Files:
    """/proc/meminfo with the default pool and any lines in kB."""
    lines = [f"{name}:  {value} kB" for name, value in lines_kb.items()]
    lines += [
        f"HugePages_Total:   {total}",
        f"HugePages_Free:    {free}",
        f"HugePages_Rsvd:    {reserved}",
        "HugePages_Surp:        0",
        "Hugepagesize:       2048 kB",
    ]
    return {"proc/meminfo": "\n".join(lines) + "\n"}


def thp(mode: str) -> Files:
    """The general THP mode."""
    text = " ".join(f"[{m}]" if m == mode else m for m in ("always", "madvise", "never"))
    return {"sys/kernel/mm/transparent_hugepage/enabled": f"{text}\n"}


def process(
    pid: int, name: str, parent: int = 1, command: str = "", start: int = 100, user: int = 0, **status: int
) -> Files:
    """One process: user in clock ticks, status lines in kB."""
    lines = "".join(f"{line}:\t{value} kB\n" for line, value in status.items())
    stat = f"{pid} ({name}) S {parent} 0 0 0 -1 4194560 7 0 1 0 {user} 50 0 0 20 0 3 0 {start} 0 0"
    return {
        f"proc/{pid}/comm": f"{name}\n",
        f"proc/{pid}/stat": f"{stat}\n",
        f"proc/{pid}/status": f"Name:\t{name}\nThreads:\t3\n{lines}",
        f"proc/{pid}/cmdline": command.replace(" ", "\0"),
        f"proc/{pid}/limits": "Limit   Soft Limit   Hard Limit   Units\n"
        "Max locked memory         65536                unlimited            bytes\n",
    }


# RHEL 7: no Hugetlb, ShmemHugePages or FileHugePages line, no shmem_enabled, fewer vmstat lines.
KERNEL_3_10: Files = {
    **meminfo(total=64, free=60, reserved=4, PageTables=17306, AnonHugePages=34816),
    **pool(2048, 64, 60, 4),
    **thp("always"),
    "sys/kernel/mm/transparent_hugepage/defrag": "[always] madvise never\n",
    "sys/kernel/mm/transparent_hugepage/khugepaged/pages_collapsed": "77\n",
    "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs": "10000\n",
    "proc/vmstat": "nr_free_pages 1\ncompact_stall 12\nthp_fault_alloc 5\nthp_split 3\n",
    "proc/interrupts": "           CPU0       CPU1\n  0:  44  0  IO-APIC   2-edge  timer\n"
    "TLB:       3566       3028   TLB shootdowns\n",
}

# Four nodes, of which node 2 is offline; 2 MiB and 1 GiB pages; balancing on.
NUMA_HOST: Files = {
    **meminfo(total=128, free=100, reserved=10, Hugetlb=262144 + 8 * 1048576),
    **pool(2048, 128, 100, 10, surplus=2, overcommit=16),
    **pool(1048576, 8, 3, 1),
    **{
        name: text
        for node in (0, 1, 3)
        for name, text in {
            **node_pool(node, 2048, 40 + node, 30),
            **node_pool(node, 1048576, 2, 1),
            f"sys/devices/system/node/node{node}/meminfo": (
                f"Node {node} MemTotal:       {67108864 + node} kB\nNode {node} MemFree:  1024 kB\n"
                f"Node {node} HugePages_Total:     {40 + node}\n"
            ),
            f"sys/devices/system/node/node{node}/numastat": (
                f"numa_hit {1000 + node}\nnuma_miss {node}\nnuma_foreign 7\ninterleave_hit 9\n"
                "local_node 900\nother_node 100\n"
            ),
        }.items()
    },
    "sys/devices/system/node/node0/distance": "10 21 50\n",
    "sys/devices/system/node/node1/distance": "21 10 16\n",
    "sys/devices/system/node/node3/distance": "50 16 10\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/vmstat": "numa_hit 3003\nnuma_pte_updates 11\nnuma_hint_faults 10\nnuma_hint_faults_local 8\n"
    "numa_pages_migrated 2\nnr_tlb_remote_flush 5\nthp_split_page 1\n",
}

# An aarch64 container host: no huge-page support compiled in, no NUMA, no TLB line.
BARE: Files = {
    "proc/meminfo": "MemTotal:  1024 kB\nPageTables:  8 kB\n",
    "proc/vmstat": "nr_free_pages 1\n",
    "proc/interrupts": "           CPU0\n 11:  44  GICv3  27 Level  arch_timer\n",
}

SMAPS = """\
00400000-00c00000 r-xp 00000000 fd:00 42  /opt/sybase/bin/dataserver
Size:               8192 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
Rss:                4096 kB
Anonymous:            64 kB
AnonHugePages:         0 kB
VmFlags: rd ex mr mw me
7f0000000000-7f0008000000 rw-s 00000000 00:0e 3  /SYSV00000000 (deleted)
Size:             131072 kB
KernelPageSize:     2048 kB
MMUPageSize:        2048 kB
Anonymous:             0 kB
Shared_Hugetlb:     4096 kB
Private_Hugetlb:    2048 kB
VmFlags: rd wr sh mr mw me ms de ht sd
7f0010000000-7f0010400000 rw-p 00000000 00:00 0
Size:               4096 kB
KernelPageSize:        4 kB
Anonymous:          4096 kB
AnonHugePages:      2048 kB
"""
NUMA_MAPS = """\
00400000 default file=/opt/sybase/bin/dataserver mapped=1024 N0=1000 N1=24 kernelpagesize_kB=4
7f0000000000 interleave:0-1 file=/SYSV00000000\\040(deleted) huge dirty=3 N0=1 N1=2 kernelpagesize_kB=2048
7ffe00000000 default stack anon=2 dirty=2 N1=2
"""


# An ASE with its shared memory in huge pages, started by its RUN file.
DATASERVER: Files = {
    **process(10, "RUN_ASE1"),
    **process(11, "dataserver", 10, "/opt/sybase/bin/dataserver -d/data/master.dat -sASE1 -e/log", VmRSS=9),
    "proc/11/smaps": SMAPS,
    "proc/11/numa_maps": NUMA_MAPS,
}
