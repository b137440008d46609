"""Handwritten /proc and /sys contents of kernels other than this machine's."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ase_exporter.assets import load_yaml
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


KERNELS: Mapping[str, Files] = load_yaml(Path(__file__).with_suffix(".yaml").read_text())
NUMA_HOST, DATASERVER = KERNELS["numa"], KERNELS["dataserver"]
