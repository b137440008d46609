"""@@variables: their types and values."""

from collections.abc import Callable
from dataclasses import dataclass

from ase_simulator.results import Type
from ase_simulator.schema.profiles import Profile
from ase_simulator.sql.context import Context
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


def _connections(session: Context) -> int:
    return sum(int(str(row["Connections"])) for row in session.server.table("monState"))


def _version_number(profile: Profile) -> int:
    """16.0 SP04 -> 16000."""
    first, second, third, *_ = profile.level
    return first * 1000 + second * 100 + third * 10


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
    DATETIME: {"@@boottime": lambda session: microseconds(session.server.boot_time())},
    _TINYINT: {"@@instanceid": lambda session: int(session.profile.cluster)},
    SMALLINT: {"@@spid": lambda session: session.spid},
    INT: {
        "@@version_as_integer": lambda session: _version_number(session.profile),
        "@@version_number": lambda session: _version_number(session.profile),
        "@@error": lambda session: session.error,
        "@@rowcount": lambda session: session.rowcount,
        "@@trancount": lambda session: session.trancount,
        "@@nestlevel": lambda session: session.nestlevel,
        "@@textsize": lambda session: session.settings.textsize,
        "@@maxpagesize": lambda _: 4096,
        "@@pagesize": lambda _: 2048,
        "@@connections": _connections,
    },
}
GLOBALS = {
    name: Global(type_, read) for type_, of_type in _DECLARED.items() for name, read in of_type.items()
}
