"""The pipes of finished statements, their texts and plans: the latest ones; a row never changes."""

from collections.abc import Iterator
from dataclasses import dataclass

from ase_simulator.contracts import Row
from ase_simulator.model.inventory import WorkloadTable
from ase_simulator.model.processes import FIRST_USER_KPID
from ase_simulator.model.sessions import FIRST_USER_SPID
from ase_simulator.model.world import World

_TEXTS = (
    "select * from {} where id = {}",
    "update {} set quantity = quantity + 1 where id = {}",
    "insert into {} (id) values ({})",
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """One finished statement. mix: a number from which its details are derived."""

    number: int
    second: float
    user: int
    mix: int
    table: WorkloadTable

    def identity(self) -> Row:
        """The columns that join its rows in the three pipes."""
        return {
            "InstanceID": 0,
            "SPID": FIRST_USER_SPID + self.user,
            "KPID": FIRST_USER_KPID + self.user,
            "BatchID": self.number,
        }


def _statements(world: World, pipe: str) -> Iterator[_Statement]:
    tables = world.inventory.tables
    users = world.workload.users
    if not tables or not users:
        return
    for number, second in world.events("statements", world.options.run(f"{pipe} pipe max messages")):
        mix = (number * 2654435761 + world.seed * 40503) & 0xFFFFFFFF
        yield _Statement(number, second, mix % users, mix >> 8, tables[(mix >> 4) % len(tables)])


def mon_sys_statement(world: World) -> Iterator[Row]:
    """The latest statements with their usage; times in milliseconds."""
    units = world.workload.drivers()
    per = {name: units[name] / max(units["statements"], 1e-9) for name in ("logical_reads", "packets_sent")}
    for statement in _statements(world, "statement"):
        spread = 0.25 + (statement.mix % 151) / 100
        cpu = world.workload.cpu_ms / max(units["statements"], 1e-9) * spread
        waited = world.workload.wait_ms / max(units["statements"], 1e-9) * spread
        changes = statement.mix % len(_TEXTS) > 0
        yield statement.identity() | {
            "DBID": statement.table.database_id,
            "CpuTime": int(cpu),
            "WaitTime": int(waited),
            "LogicalReads": int(per["logical_reads"] * spread),
            "PagesModified": int(changes),
            "PacketsSent": int(per["packets_sent"] * spread),
            "HashKey": statement.mix,
            "DBName": statement.table.object.database,
            "StartTime": world.date(statement.second - (cpu + waited) / 1000),
            "EndTime": world.date(statement.second),
        }


def mon_sys_sql_text(world: World) -> Iterator[Row]:
    """Their texts."""
    for statement in _statements(world, "sql text"):
        text = _TEXTS[statement.mix % len(_TEXTS)]
        yield statement.identity() | {
            "SQLText": text.format(statement.table.object.name, statement.mix % 100_000),
        }


def mon_sys_plan_text(world: World) -> Iterator[Row]:
    """Their plans, a line a row."""
    for statement in _statements(world, "plan text"):
        table = statement.table.object
        lines = (
            "QUERY PLAN FOR STATEMENT 1 (at line 1).",
            "    |SCAN Operator (VA = 0)",
            f"    |  FROM TABLE {table.name}",
            "    |  Positioning by key." if table.indexes else "    |  Table Scan.",
        )
        for sequence, line in enumerate(lines, start=1):
            yield statement.identity() | {
                "PlanID": statement.number & 0x7FFFFFFF,
                "SequenceNumber": sequence,
                "DBID": statement.table.database_id,
                "DBName": table.database,
                "PlanText": line,
            }


TABLES = {
    "monSysStatement": mon_sys_statement,
    "monSysSQLText": mon_sys_sql_text,
    "monSysPlanText": mon_sys_plan_text,
}
