"""Databases, devices, logins, and what is open in them."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from ase_simulator.contracts import Row
from ase_simulator.model.inventory import Device
from ase_simulator.model.sessions import FIRST_USER_SPID
from ase_simulator.model.version import level
from ase_simulator.model.world import Fill, World

_STATUS_SELECT_INTO = 4
_STATUS_LOADING = 32
_STATUS2_MIXED_LOG = -(1 << 15)
_FULL, _NO_RECOVERY = 1, 6
_MODEL_MB = 4
_MAX_DEVICE_MB = 32 * 1024  # before 15.0
_DATA_AND_SYSTEM, _LOG_ONLY, _ALL_SEGMENTS = 3, 4, 7
_LOGINS = ((1, "sa"), (2, "probe"), (3, "monitor"))


def sys_databases(world: World) -> Iterator[Row]:
    """sysdatabases: a database that LOAD DATABASE holds has status bit 32."""
    own = {database.name for database in world.inventory.own_databases}
    for name, number in world.inventory.databases.items():
        loading = name in world.loading
        status, status2, status3 = world.database_status.get(name, (0, 0, 0))
        yield {
            "name": name,
            "dbid": number,
            "status": status
            | (_STATUS_LOADING if loading else _STATUS_SELECT_INTO if name == "tempdb" else 0),
            "crdate": world.date(world.started),
            "dumptrdate": world.date(world.started),
            "status2": status2 if name in own else status2 | _STATUS2_MIXED_LOG,
            "status3": status3,
            "durability": _NO_RECOVERY if name == "tempdb" else _FULL,
        }


def sys_devices(world: World) -> Iterator[Row]:
    """sysdevices: sizes in pages of 2 KB, as virtual page numbers."""
    for device in world.inventory.devices:
        low = _first_page(world, device.number)
        pages = _size_mb(world, device) * 512
        yield {
            "low": low,
            "high": low + pages - 1,
            "status": 2 + (1 if device.name == "master" else 0),
            "name": device.name,
            "phyname": device.path,
            "vdevno": device.number,
            "crdate": world.date(world.started),
        }


def _first_page(world: World, device: int) -> int:
    """The first virtual page of a device, which before 15.0 has the device's number in its highest byte."""
    return device << 24 if level(world.version) < (15,) else 0


def _size_mb(world: World, device: Device) -> int:
    return min(device.size_mb, _MAX_DEVICE_MB) if level(world.version) < (15,) else device.size_mb


def sys_usages(world: World) -> Iterator[Row]:
    """sysusages: each database fills its devices, in their order; `model` has the end of master's."""
    page_kb = world.inventory.page_kb
    own = {database.name for database in world.inventory.own_databases}
    start: dict[str, int] = {}
    for device in world.inventory.devices:
        shares = {device.database: _size_mb(world, device)}
        if device.database == "master":
            shares = {"master": shares["master"] - _MODEL_MB, "model": _MODEL_MB}
        place = _first_page(world, device.number)
        for database, size_mb in shares.items():
            pages = size_mb * 1024 // page_kb
            fill = world.fills.get((database, device.log), Fill())
            yield {
                "dbid": world.inventory.databases[database],
                "segmap": _LOG_ONLY if device.log else _DATA_AND_SYSTEM if database in own else _ALL_SEGMENTS,
                "lstart": start.get(database, 0),
                "size": pages,
                "vstart": place,
                "pad": None,
                "location": 0,
                "unreservedpgs": int(pages * (1 - fill.at(world.seconds))),
                "crdate": world.date(world.started),
                "vdevno": device.number,
                "instanceid": None,
            }
            start[database] = start.get(database, 0) + pages
            place += size_mb * 512


def sys_logins(world: World) -> Iterator[Row]:
    """syslogins: the administrators' and the workload's; status bit 2 marks a locked login."""
    for number, name in [*_LOGINS, (4, world.workload.login)]:
        yield {
            "suid": number,
            "status": 2 if name in world.locked else 0,
            "accdate": world.date(world.started),
            "name": name,
            "pwdate": world.date(world.started),
            "lastlogindate": world.date(world.started),
            "crdate": world.date(world.started),
            "locksuid": 1 if name in world.locked else None,
            "lockreason": 1 if name in world.locked else None,
            "lockdate": world.date(world.seconds) if name in world.locked else None,
        }


def sys_logs_hold(world: World) -> Iterator[Row]:
    """syslogshold: the oldest open transaction of each busy database, and its replication marker."""
    from_users = world.workload.users > 0 and world.operation.point.throughput > 0
    for database in world.inventory.own_databases:
        number = world.inventory.databases[database.name]
        oldest = {
            "dbid": number,
            "spid": 1020,
            "page": 1000 + int(world.seconds) % 100000,
            "xactid": b"\x00\x00\x03\xe8\x00\x01",
            "starttime": world.date(max(world.seconds - 2, world.started)),
            "name": "$user_transaction",
            "xloid": 2040,
        }
        if from_users:
            yield oldest
        if database.replicated:
            yield oldest | {"spid": 0, "name": "$replication_truncation_point", "xloid": 0}
    yield from _oldest_of_clients(world)


def sys_transactions(world: World) -> Iterator[Row]:
    """systransactions: the open transactions, those of clients and the oldest of the workload's in each database."""
    yield from _client_transactions(world)
    for row in sys_logs_hold(world):
        if int(str(row["spid"])) >= FIRST_USER_SPID:
            name = str(row["name"])
            yield {
                "xactkey": bytes(8) + (1020).to_bytes(6, "big"),
                "starttime": row["starttime"],
                "spid": row["spid"],
                "masterdbid": row["dbid"],
                "loid": row["xloid"],
                "namelen": len(name),
                "xactname": name,
            }


def _client_transactions(world: World) -> Iterator[Row]:
    for client in world.sessions.clients.values():
        if client.state.began is not None:
            yield {
                "xactkey": client.spid.to_bytes(14, "big"),
                "starttime": client.state.began,
                "spid": client.spid,
                "masterdbid": client.state.database_id,
                "loid": 2 * client.spid,
                "namelen": len(client.state.transaction),
                "xactname": client.state.transaction,
            }


def _oldest_of_clients(world: World) -> Iterator[Row]:
    """The oldest open transaction of a client in each database."""
    found: dict[int, Row] = {}
    for row in sorted(_client_transactions(world), key=lambda row: str(row["starttime"])):
        number, spid = int(str(row["masterdbid"])), int(str(row["spid"]))
        found.setdefault(
            number,
            {
                "dbid": number,
                "spid": spid,
                "page": 1000 + spid,
                "xactid": spid.to_bytes(6, "big"),
                "starttime": row["starttime"],
                "name": row["xactname"],
                "xloid": 2 * spid,
            },
        )
    yield from found.values()


def mon_open_databases(world: World) -> Iterator[Row]:
    """One row per database; appends to the log come with the transactions of the users' databases."""
    flows = world.counters.flows
    homes = [database.name for database in world.inventory.own_databases]
    for name, number in world.inventory.databases.items():
        share = 1 / len(homes) if name in homes else 0.0
        now, started = world.seconds, world.started
        checkpoint = started + (now - started) // 60 * 60
        dump_began, dump_ended, dump_failed = _last_dump(world, name)
        yield {
            "DBID": number,
            "LastBackupFailed": int(dump_failed),
            "AppendLogRequests": world.int32(flows["transaction"] * share),
            "AppendLogWaits": world.int32(flows["waits 54"] * share),
            "DBName": name,
            "BackupStartTime": dump_began,
            "BackupEndTime": dump_ended,
            "LastCheckpointTime": world.date(checkpoint),
            "LastTranLogDumpTime": _last_log_dump(world, name),
        }


def _last_dump(world: World, name: str) -> tuple[datetime | None, datetime | None, bool]:
    """Start of the last dump, end of the last good one, and whether the last one failed; None before the start."""
    known = {database.name: database for database in world.inventory.own_databases}
    if name not in known:
        return None, None, False
    database = known[name]

    def at(hours: float | None) -> datetime | None:
        seconds = -3600 * hours if hours is not None else None
        return world.date(seconds) if seconds is not None and seconds >= world.started else None

    good, failed = at(database.dumped_hours_ago), at(database.dump_failed_hours_ago)
    ended = good + timedelta(hours=database.dump_hours) if good else None
    return failed or good, ended, failed is not None


def _last_log_dump(world: World, name: str) -> datetime | None:
    """Start of the last dump of a database's log; None before the server's start."""
    hours = {database.name: database.log_dumped_hours_ago for database in world.inventory.own_databases}
    before = hours.get(name)
    seconds = world.log_dumps.get(name, None if before is None else -3600 * before)
    return None if seconds is None or seconds < world.started else world.date(seconds)


def mon_tempdb_activity(world: World) -> Iterator[Row]:
    """One row for tempdb."""
    flows = world.counters.flows
    tables = flows["temp_objects"] + flows["work_tables"]
    yield {
        "DBID": world.inventory.databases["tempdb"],
        "AppendLogRequests": world.int32(tables),
        "LogicalReads": world.int32(tables * 20),
        "LockRequests": world.int32(tables * 6),
        "CatLockRequests": world.int32(tables * 3),
        "AssignedCnt": world.int32(world.workload.users + len(world.sessions.clients)),
    }


TABLES = {
    "sysdatabases": sys_databases,
    "sysdevices": sys_devices,
    "sysusages": sys_usages,
    "syslogins": sys_logins,
    "syslogshold": sys_logs_hold,
    "systransactions": sys_transactions,
    "monOpenDatabases": mon_open_databases,
    "monTempdbActivity": mon_tempdb_activity,
}
