"""Processes: connections, their present activity and their usage."""

from collections.abc import Iterator
from datetime import datetime

from ase_simulator.contracts import Row
from ase_simulator.model.processes import Process, process_snapshot
from ase_simulator.model.tables.memory import mon_cached_procedures
from ase_simulator.model.world import World


def _identity(process: Process) -> Row:
    return {"InstanceID": 0, "SPID": process.spid, "KPID": process.kpid}


_IDLE = 250


def _owned(process: Process) -> Row:
    return _identity(process) | {"ServerUserID": process.suid, "OrigServerUserID": process.suid}


def mon_process(world: World) -> Iterator[Row]:
    """One row per process."""
    for process in process_snapshot(world).processes:
        yield _owned(process) | {
            "SecondsConnected": int(world.seconds - process.since),
            "DBID": process.database_id,
            "EngineNumber": max(process.engine, 0),
            "Login": process.login,
            "Application": process.program,
            "Command": process.command,
            "SecondsWaiting": process.waiting_s if process.wait_event else None,
            "WaitEventID": process.wait_event,
            "BlockingSPID": process.blocked_by or None,
            "DBName": process.database,
            "HostName": process.host,
        }


def sys_processes(world: World) -> Iterator[Row]:
    """sysprocesses: the same processes as the system table shows them."""
    for process in process_snapshot(world).processes:
        used = _used(world, process)
        yield {
            "spid": process.spid,
            "kpid": process.kpid,
            "enginenum": max(process.engine, 0),
            "status": process.status,
            "suid": process.suid,
            "hostname": process.host,
            "program_name": process.program[: 16 if world.version.startswith("12.") else 30],
            "cmd": process.command,
            "cpu": world.int32(used["cpu_ms"] / 100),
            "physical_io": world.int32(used["single_reads"] + used["apf_reads"]),
            "blocked": process.blocked_by,
            "tran_name": process.client.state.transaction if process.client else "",
            "dbid": process.database_id,
            "time_blocked": process.waiting_s if process.blocked_by else 0,
            "network_pktsz": 2048 if process.login else 0,
            "ses_id": process.spid,
            "loggedindatetime": world.date(process.since),
            "ipaddr": process.address,
            "execution_time": process.waiting_s * 1000 if process.table is not None else 0,
        }


def _used(world: World, process: Process) -> dict[str, float]:
    """Usage of a process since its login; over all users each column adds up to the server's."""
    reads = ("logical_reads", "single_reads", "apf_reads", "pages_read", "physical_writes")
    used: dict[str, float] = dict.fromkeys(("transactions", "cpu_ms", "wait_ms", "rollbacks", *reads), 0.0)
    client = world.sessions.clients.get(process.spid)
    if process.user >= 0:
        transactions, cpu, wait = world.counters.sessions[process.user].tolist()
        total = world.counters.flows["transaction"]
        share = transactions / total if total else 0.0
        used |= {"transactions": transactions, "cpu_ms": cpu * 1000, "wait_ms": wait * 1000}
        used |= {name: world.counters.flows[name] * share for name in reads}
    elif client:
        waited = sum(seconds for event, (_, seconds) in client.state.waits.items() if event != _IDLE)
        used |= {"transactions": client.statements, "cpu_ms": client.cpu_ms, "logical_reads": client.rows}
        used |= {"wait_ms": waited * 1000, "rollbacks": client.state.rollbacks}
    return used


def mon_process_activity(world: World) -> Iterator[Row]:
    """One row per process; CPUTime and WaitTime in milliseconds."""
    units = world.workload.drivers()
    for process in process_snapshot(world).processes:
        used = _used(world, process)
        number = used["transactions"]
        own = process.user >= 0

        def per(name: str, number: float = number, own: bool = own) -> int:
            return world.int32(number * units[name]) if own else 0

        yield _owned(process) | {
            "CPUTime": world.int32(used["cpu_ms"]),
            "WaitTime": world.int32(used["wait_ms"]),
            "PhysicalReads": world.int32(used["single_reads"]),
            "LogicalReads": world.int32(used["logical_reads"]),
            "PagesRead": world.int32(used["pages_read"]),
            "PhysicalWrites": world.int32(used["physical_writes"]),
            "PagesWritten": world.int32(used["physical_writes"]),
            "LocksHeld": _locks_held(process),
            "TableAccesses": per("object_uses"),
            "IndexAccesses": per("index_uses"),
            "WorkTables": per("work_tables"),
            "TempDbObjects": per("temp_objects"),
            "ULCBytesWritten": world.int32(number * units["log_kb"] * 1024) if own else 0,
            "ULCFlushes": world.int32(number),
            "ULCFlushFull": world.int32(number * 0.02) if own else 0,
            "ULCMaxUsage": 2048 if own else 0,
            "Transactions": world.int32(number),
            "Commits": world.int32(number - number * units["rollbacks"]) if own else world.int32(number),
            "Rollbacks": per("rollbacks"),
            "IOSize1Page": world.int32(used["single_reads"]),
            "IOSize8Pages": world.int32(used["apf_reads"]),
        }


def _locks_held(process: Process) -> int:
    if process.client:
        return sum(not lock.requested for lock in process.client.state.locks)
    return 4 if process.user >= 0 and process.wait_event != _IDLE else 0


def mon_process_lookup(world: World) -> Iterator[Row]:
    """Login, host and program of each process."""
    for process in process_snapshot(world).processes:
        yield _identity(process) | {
            "Login": process.login,
            "Application": process.program,
            "ClientHost": process.host,
            "ClientIP": process.address,
        }


def mon_process_net_io(world: World) -> Iterator[Row]:
    """Packets and bytes by process."""
    units = world.workload.drivers()
    for process in process_snapshot(world).processes:
        if process.login:
            number = _used(world, process)["transactions"]
            count = {
                name: world.int32(number * units[name])
                for name in ("packets_sent", "packets_received", "bytes_sent", "bytes_received")
            }
            yield _identity(process) | {
                "PacketsSent": count["packets_sent"],
                "PacketsReceived": count["packets_received"],
                "BytesSent": count["bytes_sent"],
                "BytesReceived": count["bytes_received"],
                "NetworkEngineNumber": process.spid % len(world.online),
            }


def mon_process_waits(world: World) -> Iterator[Row]:
    """Waits of each user by event; WaitTime in milliseconds, the events' shares those of the server."""
    flows = world.counters.flows
    total = flows["transaction"]
    events = [
        (int(name.split()[1]), count, flows[f"wait seconds {name.split()[1]}"])
        for name, count in flows.items()
        if name.startswith("waits ") and name.split()[1] not in ("19", "57", "61", "179", "260")
    ]
    for process in process_snapshot(world).processes:
        for number, (waits, waited) in process.client.state.waits.items() if process.client else ():
            yield _owned(process) | {"WaitEventID": number, "Waits": waits, "WaitTime": int(waited * 1000)}
    for process in process_snapshot(world).users():
        share = world.counters.sessions[process.user][0] / total if total else 0.0
        for event, count, seconds in events:
            if count * share >= 1:
                yield _owned(process) | {
                    "WaitEventID": event,
                    "Waits": world.int32(count * share),
                    "WaitTime": world.int32(seconds * share * 1000),
                }


def mon_process_worker_thread(world: World) -> Iterator[Row]:
    """Worker threads by process: none is used."""
    for process in process_snapshot(world).processes:
        yield _identity(process) | {
            "MaxParallelDegree": world.options.run("max parallel degree"),
            "MaxScanParallelDegree": world.options.run("max scan parallel degree"),
        }


def _working(world: World) -> Iterator[Process]:
    return (p for p in process_snapshot(world).users() if p.wait_event != 250 and p.table)


def _began(world: World, process: Process) -> datetime:
    return world.date(max(world.seconds - process.waiting_s, world.started))


def mon_process_statement(world: World) -> Iterator[Row]:
    """The statement that each working user now runs."""
    for process in _working(world):
        yield _identity(process) | {
            "DBID": process.database_id,
            "WaitTime": process.waiting_s * 1000,
            "DBName": process.database,
            "StartTime": _began(world, process),
        }


_TEXTS = {
    "SELECT": "select * from {} where id = 4711",
    "UPDATE": "update {} set quantity = 1 where id = 4711",
    "INSERT": "insert into {} (id) values (4711)",
}


def mon_process_sql_text(world: World) -> Iterator[Row]:
    """Its text."""
    for process in process_snapshot(world).processes:
        if process.client and process.client.state.sql:
            yield _text(process, process.client.state.sql)
    for process in _working(world):
        assert process.table is not None
        text = _TEXTS.get(process.command, "exec new_order 4711").format(process.table.object.name)
        yield _text(process, text)


def _text(process: Process, text: str) -> Row:
    return _identity(process) | {"ServerUserID": process.suid, "SQLText": text}


def mon_process_object(world: World) -> Iterator[Row]:
    """The table that each working user now reads."""
    for process in _working(world):
        table = process.table
        assert table is not None
        yield _identity(process) | {
            "DBID": table.database_id,
            "ObjectID": table.object_id,
            "PartitionID": table.partition_id(0),
            "DBName": table.object.database,
            "ObjectName": table.object.name,
            "PartitionName": f"{table.object.name}_{table.partition_id(0)}",
            "ObjectType": f"{table.object.kind} table",
            "PartitionSize": int(table.object.size_mb * 1024),
            **({"TableSize": int(table.object.size_mb * 1024)} if world.version.startswith("12.") else {}),
        }


def mon_process_procedures(world: World) -> Iterator[Row]:
    """The procedure that each user now executes, if any."""
    plans = list(mon_cached_procedures(world))
    for process in _working(world):
        if process.command == "EXECUTE" and plans:
            plan = plans[process.user % len(plans)]
            yield _identity(process) | {
                "DBID": plan["DBID"],
                "ObjectID": plan["ObjectID"],
                "PlanID": plan["PlanID"],
                "MemUsageKB": plan["MemUsageKB"],
                "CompileDate": plan["CompileDate"],
                "DBName": plan["DBName"],
                "ObjectName": plan["ObjectName"],
                "ObjectType": plan["ObjectType"],
                "ExecutionCount": plan["ExecutionCount"],
                "CPUTime": plan["CPUTime"],
                "ExecutionTime": plan["ExecutionTime"],
                "PhysicalReads": plan["PhysicalReads"],
                "LogicalReads": plan["LogicalReads"],
            }


TABLES = {
    "monProcess": mon_process,
    "sysprocesses": sys_processes,
    "monProcessActivity": mon_process_activity,
    "monProcessLookup": mon_process_lookup,
    "monProcessNetIO": mon_process_net_io,
    "monProcessWaits": mon_process_waits,
    "monProcessWorkerThread": mon_process_worker_thread,
    "monProcessStatement": mon_process_statement,
    "monProcessSQLText": mon_process_sql_text,
    "monProcessObject": mon_process_object,
    "monProcessProcedures": mon_process_procedures,
}
