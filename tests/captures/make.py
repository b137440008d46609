"""Writes the captures of simulated servers beside this file: `python -m tests.captures.make [NAME...]`.

They stand in for real servers until somebody contributes captures of those. Nobody has to write them again when the
exporter's statements change: they are then tested as captures of an older exporter.
"""

import sys
from dataclasses import dataclass

from tests.exporter.capture.recorded import FOLDER, INTERVAL, record

from ase_exporter.capture.file import dump
from ase_exporter.capture.privacy import with_pseudonyms
from ase_exporter.capture.session import Plan
from ase_simulator.schema.profiles import profiles

SHORT = Plan(scrapes=2, interval=INTERVAL)
# With every collector and a report of sp_sysmon.
FULL = Plan(scrapes=2, interval=INTERVAL, everything=True, sysmon_seconds=1)


@dataclass(frozen=True)
class Source:
    """A simulated server and what is recorded of it."""

    version: str
    scenario: str
    plan: Plan
    user: str = "sa"

    def __str__(self) -> str:
        return "-".join([*self.version.lower().replace("#", "").split(), self.scenario, self.user])


CAPTURES = [
    *(Source(version, "idle", SHORT) for version in profiles()),
    Source("16.0 SP04", "quiet-oltp", FULL),
    Source("15.7 SP138 CE", "quiet-oltp", FULL),
    Source("16.0 SP04", "hostile", SHORT),
    Source("16.0 SP03", "idle", SHORT, "monitor"),
    Source("15.0.3", "idle", SHORT, "nobody"),
]


def write(source: Source) -> None:
    """Write one capture."""
    taken = record(source.version, source.scenario, source.plan, user=source.user)
    # Always the same pseudonyms: these names are no secrets.
    (FOLDER / f"{source}.capture.gz").write_bytes(dump(with_pseudonyms(taken, b"captures")[0]))


if __name__ == "__main__":
    for each in CAPTURES:
        if not sys.argv[1:] or str(each) in sys.argv[1:]:
            write(each)
            print(each)
