"""Processes: connections, their present activity and their usage."""

from collections.abc import Iterator
from datetime import datetime

from ase_simulator.contracts import Row
from ase_simulator.model.processes import Process, process_snapshot
from ase_simulator.model.tables.memory import mon_cached_procedures
from ase_simulator.model.world import World


def _identity(process: Process) -> Row:
    return {"InstanceID": 0, "SPID": process.spid, "KPID": process.kpid}


def _owned(process: Process) -> Row:
    return _identity(process) | {"ServerUserID": process.suid, "OrigServerUserID": process.suid}


def mon_process(world: World) -> Iterator[Row]:
    """One row per process."""
    for process in process_snapshot(world).processes:
        yield _owned(process) | {
            "BatchID": 1,
            "ContextID": 0,
            "LineNumber": 1,
            "SecondsConnected": int(world.seconds - process.since),
            "DBID": process.database_id,
            "EngineNumber": max(process.engine, 0),
            "Priority": 5,
            "FamilyID": 0,
            "Login": process.login,
            "Application": process.program,
            "Command": process.command,
            "NumChildren": 0,
            "SecondsWaiting": process.waiting_s if process.wait_event else None,
            "WaitEventID": process.wait_event,
            "BlockingSPID": process.blocked_by or None,
            "BlockingXLOID": None,
            "DBName": process.database,
            "EngineGroupName": "ANYENGINE",
            "ExecutionClass": "EC2",
            "MasterTransactionID": "",
            "HostName": process.host,
            "ClientName": "",
            "ClientHostName": "",
            "ClientApplName": "",
            "ClientDriverVersion": "",
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
            "hostprocess": "",
            "cmd": process.command,
            "cpu": world.int32(used["cpu_ms"] / 100),
            "physical_io": world.int32(used["physical_reads"]),
            "memusage": 40,
            "blocked": process.blocked_by,
            "dbid": process.database_id,
            "uid": 1,
            "gid": 0,
            "tran_name": "",
            "time_blocked": process.waiting_s if process.blocked_by else 0,
            "network_pktsz": 2048 if process.login else 0,
            "fid": 0,
            "execlass": "EC2",
            "priority": "MEDIUM",
            "affinity": "NONE",
            "id": 0,
            "stmtnum": 1,
            "linenum": 1,
            "origsuid": 0,
            "block_xloid": 0,
            "clientname": "",
            "clienthostname": "",
            "clientapplname": "",
            "sys_id": 0,
            "ses_id": process.spid,
            "loggedindatetime": world.date(process.since),
            "ipaddr": process.address,
            "nodeid": 0,
            "instanceid": 0,
            "pad": 0,
            "lcid": 0,
            "clientdriverversion": "",
            "clientport": 0,
            "execution_time": process.waiting_s * 1000 if process.table is not None else 0,
        }


def _used(world: World, process: Process) -> dict[str, float]:
    """Usage of a process since its login; over all users each column adds up to the server's."""
    names = ("transactions", "cpu_ms", "wait_ms", "logical_reads", "physical_reads", "physical_writes")
    if process.user >= 0:
        transactions, cpu, wait = world.counters.sessions[process.user].tolist()
        total = world.counters.flows["transaction"]
        share = transactions / total if total else 0.0
        flows = world.counters.flows
        reads, misses = flows["logical_reads"] * share, flows["physical_reads"] * share
        values = (transactions, cpu * 1000, wait * 1000, reads, misses, flows["physical_writes"] * share)
        return dict(zip(names, values, strict=True))
    client = world.sessions.clients.get(process.spid)
    if client:
        values = (float(client.statements), client.cpu_ms, 0.0, float(client.rows), 0.0, 0.0)
        return dict(zip(names, values, strict=True))
    return dict.fromkeys(names, 0.0)


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
            "PhysicalReads": world.int32(used["physical_reads"]),
            "LogicalReads": world.int32(used["logical_reads"]),
            "PagesRead": world.int32(used["physical_reads"]),
            "PhysicalWrites": world.int32(used["physical_writes"]),
            "PagesWritten": world.int32(used["physical_writes"]),
            "MemUsageKB": 80,
            "LocksHeld": 0 if process.wait_event == 250 or not own else 4,
            "TableAccesses": per("object_uses"),
            "IndexAccesses": per("index_uses"),
            "WorkTables": per("work_tables"),
            "TempDbObjects": per("temp_objects"),
            "ULCBytesWritten": world.int32(number * units["log_kb"] * 1024) if own else 0,
            "ULCFlushes": world.int32(number),
            "ULCFlushFull": world.int32(number * 0.02) if own else 0,
            "ULCMaxUsage": 2048 if own else 0,
            "ULCCurrentUsage": 0,
            "Transactions": world.int32(number),
            "Commits": world.int32(number - number * units["rollbacks"]) if own else world.int32(number),
            "Rollbacks": per("rollbacks"),
            "HeapMemoryInUseKB": 0,
            "HeapMemoryUsedHWM_KB": 0,
            "HeapMemoryReservedKB": 0,
            "HeapMemoryAllocs": 0,
            "IOSize1Page": world.int32(used["physical_reads"]),
            "IOSize2Pages": 0,
            "IOSize4Pages": 0,
            "IOSize8Pages": 0,
            "QueryOptimizationTime": 0,
        }


def mon_process_lookup(world: World) -> Iterator[Row]:
    """Login, host and program of each process."""
    for process in process_snapshot(world).processes:
        yield _identity(process) | {
            "Login": process.login,
            "Application": process.program,
            "ClientHost": process.host,
            "ClientIP": process.address,
            "ClientOSPID": "",
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
                "NetworkPacketSize": 2048,
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
            "ThreadsActive": 0,
            "MaxParallelDegree": world.options.run("max parallel degree"),
            "MaxScanParallelDegree": world.options.run("max scan parallel degree"),
            "ParallelQueries": 0,
            "PlansAltered": 0,
            "FamilyID": 0,
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
            "ProcedureID": 0,
            "PlanID": 0,
            "BatchID": 1,
            "ContextID": 0,
            "LineNumber": 1,
            "CpuTime": 0,
            "WaitTime": process.waiting_s * 1000,
            "MemUsageKB": 80,
            "PhysicalReads": 0,
            "LogicalReads": 6,
            "PagesModified": 0,
            "PacketsSent": 0,
            "PacketsReceived": 1,
            "NetworkPacketSize": 2048,
            "PlansAltered": 0,
            "RowsAffected": 0,
            "DBName": process.database,
            "QueryOptimizationTime": 0,
            "StartTime": _began(world, process),
        }


_TEXTS = {
    "SELECT": "select * from {} where id = 4711",
    "UPDATE": "update {} set quantity = 1 where id = 4711",
    "INSERT": "insert into {} (id) values (4711)",
}


def mon_process_sql_text(world: World) -> Iterator[Row]:
    """Its text."""
    for process in _working(world):
        assert process.table is not None
        text = _TEXTS.get(process.command, "exec new_order 4711").format(process.table.object.name)
        yield _identity(process) | {
            "ServerUserID": process.suid,
            "BatchID": 1,
            "LineNumber": 1,
            "SequenceInLine": 1,
            "SQLText": text,
        }


def mon_process_object(world: World) -> Iterator[Row]:
    """The table that each working user now reads."""
    for process in _working(world):
        table = process.table
        assert table is not None
        yield _identity(process) | {
            "DBID": table.database_id,
            "ObjectID": table.object_id,
            "PartitionID": table.partition_id(0),
            "IndexID": 0,
            "OwnerUserID": 1,
            "LogicalReads": 6,
            "PhysicalReads": 0,
            "PhysicalAPFReads": 0,
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
                "OwnerUID": 1,
                "ObjectID": plan["ObjectID"],
                "PlanID": plan["PlanID"],
                "MemUsageKB": plan["MemUsageKB"],
                "CompileDate": plan["CompileDate"],
                "ContextID": 1,
                "LineNumber": 1,
                "StatementNumber": 1,
                "DBName": plan["DBName"],
                "OwnerName": "dbo",
                "ObjectName": plan["ObjectName"],
                "ObjectType": plan["ObjectType"],
                "ExecutionCount": plan["ExecutionCount"],
                "CPUTime": plan["CPUTime"],
                "ExecutionTime": plan["ExecutionTime"],
                "PhysicalReads": plan["PhysicalReads"],
                "LogicalReads": plan["LogicalReads"],
                "PhysicalWrites": 0,
                "PagesWritten": 0,
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
