"""A handwritten machine: /proc, /sys, and a stand-in for perf whose counts depend on them."""

import sys
from pathlib import Path

from tests.exporter.host.kernels import Files, meminfo, node_pool, pool, process, thp, write_files

PAGES = 918016
NODES = 2
REQUIRED = {"ase_memory": 939524096, "page_size": "2MiB", "headroom": 512}
_TIB_KB = 1 << 30
_POOL = "sys/kernel/mm/hugepages/hugepages-2048kB"


def before(root: Path) -> None:
    """1.75 TiB of ASE in small pages: no pool, THP on, large page tables."""
    _write(
        root,
        pages=0,
        free=0,
        mode="always",
        page_tables_kb=16 << 20,
        thp_kb=40 << 20,
        shmem_kb=_TIB_KB * 7 // 4,
    )


def after(root: Path) -> None:
    """The same in a pool of huge pages, THP off."""
    _write(root, pages=PAGES, free=2100, mode="never", page_tables_kb=1 << 20, thp_kb=0, shmem_kb=0)


def perf(root: Path) -> Path:
    """Write a stand-in for perf. Its counts are invented, to fill panels."""
    program = root / "perf"
    source = Path(__file__).with_name("stand_in_perf.py")
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -S -E {source} {root / _POOL / "nr_hugepages"} "$@"\n'
    )
    program.chmod(0o755)
    return program


def _write(
    root: Path, *, pages: int, free: int, mode: str, page_tables_kb: int, thp_kb: int, shmem_kb: int
) -> None:
    used_kb = (pages - free) * 2048
    files: Files = {
        **meminfo(
            total=pages,
            free=free,
            MemTotal=2 * _TIB_KB,
            Hugetlb=pages * 2048,
            AnonHugePages=thp_kb,
            ShmemHugePages=0,
            FileHugePages=0,
            PageTables=page_tables_kb,
        ),
        **pool(2048, pages, free, free // 2),
        **thp(mode),
        **process(
            4711,
            "dataserver",
            1,
            "/opt/sybase/bin/dataserver -d/data/master.dat -sMEMSCALE -e/log",
            RssAnon=52 << 20,
            RssShmem=shmem_kb,
            HugetlbPages=used_kb,
            VmPTE=page_tables_kb * 9 // 10,
            VmLck=0,
        ),
        "proc/4711/smaps": "7f0000000000-7f0010000000 rw-p 00000000 00:00 0\n"
        f"Size: {52 << 20} kB\nKernelPageSize: 4 kB\nAnonymous: {52 << 20} kB\nAnonHugePages: {thp_kb} kB\n"
        "7f1000000000-7fd000000000 rw-s 00000000 00:0e 3 /SYSV00000000 (deleted)\n"
        f"Size: {used_kb + free // 2 * 2048} kB\nKernelPageSize: 2048 kB\nShared_Hugetlb: {used_kb} kB\n",
        "proc/4711/limits": "Limit   Soft Limit   Hard Limit   Units\n"
        f"Max locked memory         {PAGES * 2048 * 1024}         {PAGES * 2048 * 1024}         bytes\n",
        "proc/cpuinfo": "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 79\n",
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/interrupts": "           CPU0       CPU1\nTLB:       3566       3028   TLB shootdowns\n",
        "proc/vmstat": "numa_hit 1\nnuma_hint_faults 0\nnuma_hint_faults_local 0\nnuma_pages_migrated 0\n"
        "compact_stall 0\ncompact_fail 0\ncompact_success 0\n"
        f"numa_pte_updates 0\nthp_fault_alloc {thp_kb // 2048}\n",
    }
    for node in range(NODES):
        files = {
            **files,
            **node_pool(node, 2048, pages // NODES, free // NODES),
            f"sys/devices/system/node/node{node}/meminfo": (
                f"Node {node} MemTotal:  {_TIB_KB} kB\nNode {node} MemFree:  {(64 + 5 * node) << 20} kB\n"
            ),
            f"sys/devices/system/node/node{node}/numastat": (
                f"numa_hit {10**9}\nnuma_miss {node}\nnuma_foreign 0\ninterleave_hit 0\nlocal_node 1\nother_node 1\n"
            ),
            f"sys/devices/system/node/node{node}/distance": "10 21\n" if node == 0 else "21 10\n",
        }
    # Replace each file atomically: the exporter reads meanwhile.
    for name, text in files.items():
        new, _ = write_files(root / "new", {name: text})
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (Path(new).parent / name).replace(path)
