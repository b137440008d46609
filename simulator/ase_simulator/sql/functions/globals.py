"""@@variables: their types and values."""

from collections.abc import Callable
from dataclasses import dataclass

from ase_simulator.contracts import Server
from ase_simulator.results import TransactionState, Type
from ase_simulator.schema.profiles import Profile
from ase_simulator.sql.context import Context
from ase_simulator.sql.lookup.server_facts import boot_time, run_value
from ase_simulator.sql.types.rules import DATETIME, INT, SMALLINT, varchar
from ase_simulator.sql.types.values import EngineValue, microseconds

_TINYINT = Type("tinyint")
_NAME = varchar(30)
_LONG_NAME = varchar(255)


@dataclass(frozen=True, slots=True)
class Global:
    """One @@variable."""

    type: Type
    read: Callable[[Context], EngineValue]


def _total(table: str, *columns: str) -> Callable[[Context], int]:
    """The sum of columns over all rows of a table."""
    return lambda session: sum(
        int(str(row.get(column) or 0)) for row in session.server.table(table) for column in columns
    )


def _ticks(*columns: str) -> Callable[[Context], int]:
    """Clock ticks over all engines, which monEngine has in seconds."""

    def read(session: Context) -> int:
        per_second = 1_000_000 // _tick_length(session.server)
        return min(_total("monEngine", *columns)(session) * per_second, 2**31 - 1)

    return read


def _tick_length(server: Server) -> int:
    return run_value(server, "sql server clock tick length", 100_000)


def _version_number(profile: Profile) -> int:
    """16.0 SP04 -> 16000."""
    first, second, third, *_ = profile.level
    return first * 1000 + second * 100 + third * 10


def _transaction_state(session: Context) -> int:
    """0 in a transaction, 1 after its end, 3 after a rollback."""
    return 0 if session.trancount else 3 if session.transaction is TransactionState.ABORTED else 1


def _lock_timeout(session: Context) -> int:
    return -1 if session.locker.timeout is None else int(session.locker.timeout)


_DECLARED: dict[Type, dict[str, Callable[[Context], EngineValue]]] = {
    _LONG_NAME: {
        "@@version": lambda session: session.profile.banner,
        "@@servername": lambda session: session.server.name,
    },
    _NAME: {
        "@@charset": lambda session: session.shared.charset,
        "@@language": lambda session: session.settings.language,
        "@@instancename": lambda session: session.server.name if session.profile.cluster else None,
        "@@authmech": lambda session: session.server.faults.authentication,
        "@@system_view": lambda session: session.settings.system_view,
        "@@nodeid": lambda _: None,
    },
    DATETIME: {"@@boottime": lambda session: microseconds(boot_time(session.server))},
    _TINYINT: {"@@instanceid": lambda session: int(session.profile.cluster)},
    SMALLINT: {"@@spid": lambda session: session.spid},
    INT: {
        "@@version_as_integer": lambda session: _version_number(session.profile),
        "@@version_number": lambda session: _version_number(session.profile),
        "@@error": lambda session: session.error,
        "@@rowcount": lambda session: session.rowcount,
        "@@trancount": lambda session: session.trancount,
        "@@transtate": _transaction_state,
        "@@tranchained": lambda session: int(session.settings.chained),
        "@@isolation": lambda session: session.settings.isolation,
        "@@lock_timeout": _lock_timeout,
        "@@nestlevel": lambda session: session.nestlevel,
        "@@textsize": lambda session: session.settings.textsize,
        "@@maxpagesize": lambda _: 4096,
        "@@pagesize": lambda _: 2048,
        "@@cpu_busy": _ticks("UserCPUTime", "SystemCPUTime"),
        "@@io_busy": _ticks("IOCPUTime"),
        "@@idle": _ticks("IdleCPUTime"),
        "@@system_busy": _ticks("SystemCPUTime"),
        "@@user_busy": _ticks("UserCPUTime"),
        "@@timeticks": lambda session: _tick_length(session.server),
        "@@connections": _total("monState", "Connections"),
        "@@pack_received": _total("monNetworkIO", "PacketsReceived"),
        "@@pack_sent": _total("monNetworkIO", "PacketsSent"),
        "@@total_read": _total("monDeviceIO", "Reads"),
        "@@total_write": _total("monDeviceIO", "Writes"),
        "@@max_connections": lambda session: run_value(session.server, "number of user connections", 25),
    },
}
GLOBALS = {
    name: Global(type_, read) for type_, of_type in _DECLARED.items() for name, read in of_type.items()
}
