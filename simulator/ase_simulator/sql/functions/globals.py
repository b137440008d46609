"""@@variables: their types and where their values come from."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ase_simulator.results import TransactionState, Type
from ase_simulator.schema.types import NATIONAL_BYTES, parse_type
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


def _transtate(session: FunctionContext) -> EngineValue:
    """0 in a transaction, 1 after its end, 3 after a rollback of all."""
    return 0 if session.trancount else 3 if session.transaction is TransactionState.ABORTED else 1


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
    "@@boottime": Global(DATETIME, _boottime),
    "@@error": Global(INT, _state("error")),
    "@@rowcount": Global(INT, _state("rowcount")),
    "@@trancount": Global(INT, _state("trancount")),
    "@@transtate": Global(INT, _transtate),
    "@@lock_timeout": Global(
        INT, lambda session: -1 if session.lock_timeout is None else int(session.lock_timeout)
    ),
    "@@tranchained": Global(INT, lambda session: int(session.settings.chained)),
    "@@isolation": Global(INT, _setting("isolation")),
    "@@sqlstatus": Global(INT, _state("sqlstatus")),
    "@@fetch_status": Global(INT, lambda session: {0: 0, 1: -2, 2: -1}[session.sqlstatus]),
    "@@identity": Global(INT, _state("identity")),
    "@@nestlevel": Global(INT, _state("nestlevel")),
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
    "@@total_read": Global(INT, _devices("Reads")),
    "@@total_write": Global(INT, _devices("Writes")),
    "@@charset": Global(_NAME, lambda session: session.shared.charset),
    "@@client_csname": Global(_NAME, lambda session: session.request.charset or session.shared.charset),
    "@@ncharsize": Global(TINYINT, _fixed(NATIONAL_BYTES)),
    "@@language": Global(_NAME, _setting("language")),
    "@@textsize": Global(INT, _setting("textsize")),
    "@@procstatus": Global(INT, _state("status")),
    "@@cis_version": Global(_TEXT, lambda session: session.profile.banner),
    "@@errorlog": Global(_TEXT, lambda session: f"/opt/sap/ASE/install/{session.server.name}.log"),
    "@@setrowcount": Global(INT, _setting("rowcount")),
    "@@system_busy": Global(INT, _ticks("SystemCPUTime")),
    "@@user_busy": Global(INT, _ticks("UserCPUTime")),
    "@@instanceid": Global(TINYINT, lambda session: 1 if session.profile.cluster else 0),
    "@@instancename": Global(_NAME, lambda session: session.server.name if session.profile.cluster else None),
    "@@clustername": Global(_NAME, lambda session: session.server.name if session.profile.cluster else None),
    "@@kernelmode": Global(_NAME, _kernel_mode),
    "@@authmech": Global(_NAME, lambda session: session.server.faults.authentication),
    "@@clustercoordid": Global(TINYINT, lambda session: 1 if session.profile.cluster else 0),
    "@@clusterboottime": Global(DATETIME, _boottime),
    "@@clustermode": Global(
        _NAME, lambda session: "shared disk cluster" if session.profile.cluster else None
    ),
    "@@servicename": Global(_NAME, lambda session: session.server.name),
    "@@system_view": Global(_NAME, _setting("system_view")),
    "@@max_engines": Global(INT, lambda session: run_value(session.server, "max online engines", 1)),
    "@@numengines": Global(INT, lambda session: run_value(session.server, "number of engines at startup", 1)),
    "@@tranlevel": Global(INT, _state("trancount")),
}


def _constants() -> Iterator[tuple[str, Global]]:
    lines = files(__package__).joinpath("globals.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        type_ = parse_type(row["type"])
        assert type_ is not None, row
        text = row["value"]
        if type_.name in ("varchar", "datetime"):
            value: EngineValue = text or None
        elif type_.name == "varbinary":
            value = bytes.fromhex(text[2:]) if text else None
        else:
            value = float(text) if type_.name == "real" else int(text)
        yield row["name"], Global(type_, _fixed(value))


GLOBALS |= _constants()
