"""@@variables: their types and where their values come from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ase_simulator.results import Type
from ase_simulator.schema.types import NATIONAL_BYTES
from ase_simulator.sql.context import FunctionContext
from ase_simulator.sql.lookup.server_facts import run_value
from ase_simulator.sql.types.rules import DATETIME, INT, SMALLINT, TINYINT, varchar
from ase_simulator.sql.types.values import EngineValue, microseconds


@dataclass(frozen=True, slots=True)
class Global:
    """One @@variable."""

    type: Type
    read: Callable[[FunctionContext], EngineValue]


def _row(session: FunctionContext, table: str) -> dict[str, Any]:
    return dict(next(iter(session.server.table(table)), {}))


def _boottime(session: FunctionContext) -> EngineValue:
    start = _row(session, "monState").get("StartDate")
    return microseconds(start) if start else None


def _ticks(*columns: str) -> Callable[[FunctionContext], EngineValue]:
    """@@cpu_busy and its kin count clock ticks over all engines; monEngine has them in seconds."""

    def read(session: FunctionContext) -> EngineValue:
        per_second = 1_000_000 // _tick_length(session)
        rows = session.server.table("monEngine")
        total = sum(int(str(row.get(column) or 0)) for row in rows for column in columns)
        return min(total * per_second, 2**31 - 1)

    return read


def _tick_length(session: FunctionContext) -> int:
    return int(run_value(session.server, "sql server clock tick length", 100_000))


def _network(column: str) -> Callable[[FunctionContext], EngineValue]:
    return lambda session: int(_row(session, "monNetworkIO").get(column) or 0)


def _devices(*columns: str) -> Callable[[FunctionContext], EngineValue]:
    return lambda session: sum(
        int(str(row.get(column) or 0)) for row in session.server.table("monDeviceIO") for column in columns
    )


def _version_number(session: FunctionContext) -> EngineValue:
    first, second, third, *_ = session.profile.level
    return int(first * 1000 + second * 100 + third * 10)


def _kernel_mode(session: FunctionContext) -> EngineValue:
    modes = [option.text for option in session.server.options() if option.name == "kernel mode"]
    return modes[0] if modes else "process"


def _fixed(value: EngineValue) -> Callable[[FunctionContext], EngineValue]:
    return lambda session: value


def _setting(name: str) -> Callable[[FunctionContext], EngineValue]:
    return lambda session: getattr(session.settings, name)


def _state(name: str) -> Callable[[FunctionContext], EngineValue]:
    return lambda session: getattr(session, name)


_NAME, _TEXT = varchar(30), varchar(255)

GLOBALS: dict[str, Global] = {
    "@@version": Global(_TEXT, lambda session: session.profile.banner),
    "@@version_as_integer": Global(INT, _version_number),
    "@@version_number": Global(INT, _version_number),
    "@@servername": Global(_TEXT, lambda session: session.server.name),
    "@@spid": Global(SMALLINT, _state("spid")),
    "@@kpid": Global(INT, lambda session: session.spid * 65536 + 17),
    "@@procid": Global(INT, _fixed(0)),
    "@@boottime": Global(DATETIME, _boottime),
    "@@error": Global(INT, _state("error")),
    "@@rowcount": Global(INT, _state("rowcount")),
    "@@trancount": Global(INT, _state("trancount")),
    "@@transtate": Global(INT, _fixed(1)),
    "@@tranchained": Global(INT, lambda session: int(session.settings.chained)),
    "@@isolation": Global(INT, _setting("isolation")),
    "@@sqlstatus": Global(INT, _state("sqlstatus")),
    "@@fetch_status": Global(INT, lambda session: {0: 0, 1: -2, 2: -1}[session.sqlstatus]),
    "@@identity": Global(INT, _state("identity")),
    "@@nestlevel": Global(INT, _state("nestlevel")),
    "@@maxpagesize": Global(INT, _fixed(4096)),
    "@@pagesize": Global(INT, _fixed(2048)),
    "@@cpu_busy": Global(INT, _ticks("UserCPUTime", "SystemCPUTime")),
    "@@io_busy": Global(INT, _ticks("IOCPUTime")),
    "@@idle": Global(INT, _ticks("IdleCPUTime")),
    "@@timeticks": Global(INT, _tick_length),
    "@@connections": Global(INT, lambda session: int(_row(session, "monState").get("Connections") or 0)),
    "@@max_connections": Global(
        INT, lambda session: run_value(session.server, "number of user connections", 25)
    ),
    "@@pack_received": Global(INT, _network("PacketsReceived")),
    "@@pack_sent": Global(INT, _network("PacketsSent")),
    "@@packet_errors": Global(INT, _fixed(0)),
    "@@total_read": Global(INT, _devices("Reads")),
    "@@total_write": Global(INT, _devices("Writes")),
    "@@total_errors": Global(INT, _fixed(0)),
    "@@charset": Global(_NAME, lambda session: session.shared.charset),
    "@@client_csname": Global(_NAME, lambda session: session.request.charset or session.shared.charset),
    "@@client_csid": Global(INT, _fixed(190)),
    "@@char_convert": Global(TINYINT, _fixed(1)),
    "@@ncharsize": Global(TINYINT, _fixed(NATIONAL_BYTES)),
    "@@maxcharlen": Global(TINYINT, _fixed(4)),
    "@@unicharsize": Global(TINYINT, _fixed(2)),
    "@@language": Global(_NAME, _setting("language")),
    "@@langid": Global(SMALLINT, _fixed(0)),
    "@@textsize": Global(INT, _setting("textsize")),
    "@@options": Global(Type("varbinary", 64), _fixed(b"\x04\x44\x40")),
    "@@procstatus": Global(INT, _state("status")),
    "@@dbts": Global(Type("varbinary", 8), _fixed(b"\x00\x00\x00\x00\x00\x00\x1b\x58")),
    "@@thresh_hysteresis": Global(INT, _fixed(64)),
    "@@guestuserid": Global(INT, _fixed(2)),
    "@@probesuid": Global(INT, _fixed(2)),
    "@@mingroupid": Global(INT, _fixed(16384)),
    "@@maxgroupid": Global(INT, _fixed(1048576)),
    "@@minsuid": Global(INT, _fixed(-32768)),
    "@@maxsuid": Global(INT, _fixed(2147483647)),
    "@@minuserid": Global(INT, _fixed(-32768)),
    "@@maxuserid": Global(INT, _fixed(2147483647)),
    "@@ssl_ciphersuite": Global(_TEXT, _fixed(None)),
    "@@curloid": Global(INT, _fixed(0)),
    "@@cis_version": Global(_TEXT, lambda session: session.profile.banner),
    "@@crthaproc": Global(INT, _fixed(0)),
    "@@bootcount": Global(INT, _fixed(1)),
    "@@errorlog": Global(_TEXT, lambda session: f"/opt/sap/ASE/install/{session.server.name}.log"),
    "@@datefirst": Global(TINYINT, _fixed(7)),
    "@@lock_timeout": Global(INT, _fixed(-1)),
    "@@max_precision": Global(INT, _fixed(38)),
    "@@monitors_active": Global(INT, _fixed(0)),
    "@@heapmemsize": Global(INT, _fixed(4096)),
    "@@stringsize": Global(INT, _fixed(50)),
    "@@setrowcount": Global(INT, _setting("rowcount")),
    "@@system_busy": Global(INT, _ticks("SystemCPUTime")),
    "@@user_busy": Global(INT, _ticks("UserCPUTime")),
    "@@instanceid": Global(TINYINT, lambda session: 1 if session.profile.cluster else 0),
    "@@instancename": Global(_NAME, lambda session: session.server.name if session.profile.cluster else None),
    "@@clustername": Global(_NAME, lambda session: session.server.name if session.profile.cluster else None),
    "@@kernelmode": Global(_NAME, _kernel_mode),
    "@@engine": Global(SMALLINT, _fixed(0)),
    "@@tempdbid": Global(INT, _fixed(2)),
    "@@authmech": Global(_NAME, lambda session: session.server.faults.authentication),
    "@@hacmpservername": Global(_NAME, _fixed(None)),
    "@@ldapd_timeout": Global(INT, _fixed(0)),
    "@@lastlogindate": Global(DATETIME, _fixed(None)),
    "@@plwpid": Global(INT, _fixed(-1)),
    "@@repartition_degree": Global(INT, _fixed(1)),
    "@@resource_granularity": Global(INT, _fixed(10)),
    "@@recovery_state": Global(_NAME, _fixed("NOT_IN_RECOVERY")),
    "@@hadr_mode": Global(INT, _fixed(-1)),
    "@@optgoal": Global(_NAME, _fixed("allrows_mix")),
    "@@optlevel": Global(_NAME, _fixed("ase_current")),
    "@@opttimeoutlimit": Global(INT, _fixed(10)),
    "@@parallel_degree": Global(INT, _fixed(1)),
    "@@scan_parallel_degree": Global(INT, _fixed(1)),
    "@@lwpid": Global(INT, _fixed(-1)),
    "@@invaliduserid": Global(INT, _fixed(-1)),
    "@@textptr": Global(Type("varbinary", 16), _fixed(None)),
    "@@clustercoordid": Global(TINYINT, lambda session: 1 if session.profile.cluster else 0),
    "@@clusterboottime": Global(DATETIME, _boottime),
    "@@clustermode": Global(
        _NAME, lambda session: "shared disk cluster" if session.profile.cluster else None
    ),
    "@@hadr_state": Global(INT, _fixed(-1)),
    "@@servicename": Global(_NAME, lambda session: session.server.name),
    "@@bulkarraysize": Global(INT, _fixed(50)),
    "@@bulkbatchsize": Global(INT, _fixed(0)),
    "@@cursor_rows": Global(INT, _fixed(0)),
    "@@cmpstate": Global(INT, _fixed(0)),
    "@@failedoverconn": Global(INT, _fixed(0)),
    "@@haconnection": Global(INT, _fixed(0)),
    "@@jsinstanceid": Global(TINYINT, _fixed(0)),
    "@@nodeid": Global(_NAME, _fixed(None)),
    "@@optoptions": Global(_TEXT, _fixed("")),
    "@@opttimeout": Global(INT, _fixed(0)),
    "@@shmem_flags": Global(INT, _fixed(0)),
    "@@system_view": Global(_NAME, _setting("system_view")),
    "@@textcolid": Global(INT, _fixed(0)),
    "@@textdataptnid": Global(INT, _fixed(0)),
    "@@textdbid": Global(INT, _fixed(0)),
    "@@textobjid": Global(INT, _fixed(0)),
    "@@textptnid": Global(INT, _fixed(0)),
    "@@textptr_parameters": Global(INT, _fixed(0)),
    "@@textts": Global(Type("varbinary", 8), _fixed(None)),
    "@@tranrollback": Global(INT, _fixed(0)),
    "@@trans_start": Global(DATETIME, _fixed(None)),
    "@@unixwrite": Global(INT, _fixed(0)),
    "@@archivedbname": Global(_NAME, _fixed(None)),
    "@@client_expansion": Global(Type("real"), _fixed(1.0)),
    "@@compression": Global(_NAME, _fixed("none")),
    "@@quorum_physname": Global(_TEXT, _fixed(None)),
    "@@nextkpid": Global(INT, _fixed(0)),
    "@@max_engines": Global(INT, lambda session: run_value(session.server, "max online engines", 1)),
    "@@min_poolsize": Global(INT, _fixed(512)),
    "@@pool_size": Global(INT, _fixed(0)),
    "@@remotestate": Global(INT, _fixed(0)),
    "@@logintrigger": Global(_TEXT, _fixed(None)),
    "@@numengines": Global(INT, lambda session: run_value(session.server, "number of engines at startup", 1)),
    "@@tranlevel": Global(INT, _state("trancount")),
}
