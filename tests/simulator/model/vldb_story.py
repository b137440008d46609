"""The VLDB case study on the simulated server, fix by fix: figures, and the table of docs/case-studies.md.

`python -m tests.simulator.model.vldb_story` prints the table.
"""

from dataclasses import dataclass

from tests.simulator.model.worlds import contention, rows_of

from ase_simulator.model import SimulatedServer, load_scenario

FIXES = [
    "nothing yet",
    "address locks 100 → 5",
    "descriptors 100 → 5",
    "system tables apart",
    "key tables apart",
]
SPINLOCKS = [
    "addrlockspins",
    "Des Upd Spinlocks",
    "Ides Spinlocks",
    "default data cache",
    "system tables cache",
    "key tables cache",
]
SAMPLE = 30
"""Seconds over which contention is taken."""


@dataclass(frozen=True)
class Stage:
    """The server after a fix: contention in percent by spinlock, the batch's last whole run."""

    fix: str
    contention: dict[str, float]
    elapsed: float
    status: str

    @property
    def worst(self) -> str:
        """The spinlock with the highest contention."""
        return max(self.contention, key=lambda name: self.contention[name])


def stages() -> list[Stage]:
    """The server before and after each fix."""
    [server] = load_scenario("vldb", speed=0)
    found = []
    for step, fix in enumerate(FIXES):
        tune(server, step)
        here = {row["SpinlockName"] for row in rows_of(server, "monSpinlockActivity")}
        spinning = contention(server, SAMPLE, [name for name in SPINLOCKS if name in here])
        server.advance(900)
        last = [row for row in rows_of(server, "simBatch") if row["Status"] != "running"][-1]
        found.append(Stage(fix, spinning, last["ElapsedSeconds"], last["Status"]))
    return found


def tune(server: SimulatedServer, step: int) -> None:
    """One fix, through the server's own calls."""
    if step == 1:
        server.set_option("lock address spinlock ratio", 5, "sa")
    elif step == 2:
        for name in ("open object", "open index", "open index hash", "partition"):
            server.set_option(f"{name} spinlock ratio", 5, "sa")
    elif step == 3:
        server.configure_cache("system tables cache", size_kb=2 * 1024**2, strategy="relaxed")
        for table in ("sysobjects", "sysindexes", "syscolumns", "systabstats", "sysstatistics"):
            server.bind_cache("system tables cache", "claims", table)
    elif step == 4:
        server.configure_cache("key tables cache", size_kb=64 * 1024**2, strategy="relaxed")
        for table in ("claim", "claim_line"):
            server.bind_cache("key tables cache", "claims", table)


def rows(found: list[Stage]) -> list[str]:
    """The simulated part of the page's table."""
    return [
        f"{stage.worst} {stage.contention[stage.worst]:.0f} % | {stage.elapsed:.0f} s"
        + (", given up" if stage.status == "aborted" else "")
        for stage in found
    ]


if __name__ == "__main__":
    print("\n".join(rows(stages())))
