"""System tables whose rows follow from the schema, the configuration, logins and clients' own objects."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ase_simulator.contracts import Row
from ase_simulator.schema.catalog import ColumnDefinition
from ase_simulator.schema.rows import checked
from ase_simulator.schema.types import TYPE_NUMBERS, byte_length
from ase_simulator.sql.context import FunctionContext
from ase_simulator.sql.dictionary.database_tables import (
    sim_keys,
    sim_parameters,
    spt_values,
    syscolumns,
    syscomments,
    sysindexes,
    sysobjects,
    systypes,
)
from ase_simulator.sql.errors import all_messages
from ase_simulator.sql.logins import ROLES
from ase_simulator.sql.lookup.server_facts import boot_time

if TYPE_CHECKING:
    from ase_simulator.contracts import Option

_LANGUAGE = "en_US"
_STATEFUL, _WRAPS = 1, 1
_DYNAMIC, _STATIC = 8 | 2, 16 | 2
_LOCKED = 2
_CONFIG_SECTION = 19


def mon_tables(session: FunctionContext, database: str) -> Iterator[Row]:
    """monTables: one row for each monitoring table of this version."""
    for number, table in enumerate(session.shared.catalog.monitoring_tables(), 1):
        yield {
            "TableID": number,
            "Columns": len(table.columns),
            "Parameters": sum(name in table.by_name for name in table.parameters),
            "Indicators": _STATEFUL if table.stateful else 0,
            "Size": sum(byte_length(column.type) for column in table.columns),
            "TableName": table.name,
            "Description": table.description,
            "Language": _LANGUAGE,
        }


def mon_table_columns(session: FunctionContext, database: str) -> Iterator[Row]:
    """monTableColumns: one row for each column of each monitoring table."""
    types = session.server.faults.column_types
    for number, table in enumerate(session.shared.catalog.monitoring_tables(), 1):
        for place, column in enumerate(table.with_types(types).columns):
            yield {
                "TableID": number,
                "ColumnID": place,
                **_typed(column),
                "Indicators": _WRAPS if column.wraps else 0,
                "TableName": table.name,
                "ColumnName": column.name,
                "Description": column.description,
                "Language": _LANGUAGE,
            }


def mon_table_parameters(session: FunctionContext, database: str) -> Iterator[Row]:
    """monTableParameters: the columns that make a query of a table cheap in its WHERE clause."""
    for number, table in enumerate(session.shared.catalog.monitoring_tables(), 1):
        present = [name for name in table.parameters if name in table.by_name]
        for place, name in enumerate(present):
            column = table.by_name[name]
            yield {
                "TableID": number,
                "ParameterID": place,
                **_typed(column),
                "TableName": table.name,
                "ParameterName": name,
                "Description": column.description,
            }


def _typed(column: ColumnDefinition) -> dict[str, object]:
    type_ = column.type
    return {
        "TypeID": TYPE_NUMBERS[type_.name][1],
        "Precision": type_.precision,
        "Scale": type_.scale,
        "Length": byte_length(type_),
        "TypeName": type_.name,
    }


def sysconfigures(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysconfigures: configured values; sections (parents) first, caches as children of 19."""
    sections: dict[str, int] = {}
    options = session.server.options()
    for option in options:
        if option.section not in sections:
            sections[option.section] = len(sections) + 1
            if sections[option.section] >= _CONFIG_SECTION:
                sections[option.section] += 1
            yield _section(sections[option.section], option.section)
    for option in options:
        yield {
            "config": option.number,
            "value": option.configured,
            "comment": option.name,
            "status": _STATIC if option.static else _DYNAMIC,
            "name": option.name,
            "parent": sections[option.section],
            "value2": option.text or None,
            "value3": 0,
            "value4": 0,
        }
    for cache in session.server.table("syscacheinfo"):
        yield {
            "config": _CONFIG_SECTION,
            "value": int(float(str(cache["config_size"])) * 1024),
            "comment": cache["cache_name"],
            "status": 32,
            "name": cache["cache_name"],
            "parent": _CONFIG_SECTION,
            "value3": 0,
            "value4": cache["config_partitions"],
        }


def _section(number: int, name: str) -> Row:
    return {
        "config": number, "value": 0, "comment": name, "status": 0, "name": name, "parent": 0, "value3": 0, "value4": 0,
    }  # fmt: skip


def syscurconfigs(session: FunctionContext, database: str) -> Iterator[Row]:
    """syscurconfigs: run values."""
    for option in session.server.options():
        yield {
            "config": option.number,
            "value": option.run,
            "comment": option.name,
            "status": _STATIC if option.static else _DYNAMIC,
            "value2": option.text or None,
            "defvalue": str(option.default),
            "minimum_value": option.minimum,
            "maximum_value": option.maximum,
            "memory_used": option.memory_used,
            "display_level": 10,
            "datatype": _datatype(option),
            "message_num": 0,
            "apf_percent": 0,
            "unit": option.unit,
            "type": "static" if option.static else "dynamic",
        }
    for cache in session.server.table("syscacheinfo"):
        yield {
            "config": _CONFIG_SECTION,
            "value": int(float(str(cache["run_size"])) * 1024),
            "comment": cache["cache_name"],
            "status": 32,
            "memory_used": int((float(str(cache["run_size"])) + float(str(cache["overhead"]))) * 1024),
            "unit": "kilobytes",
            "type": "dynamic",
        }


def _datatype(option: "Option") -> int:
    """syscurconfigs.datatype: 7 a number, 2 a text."""
    return 2 if option.unit == "name" else 7


def ch_events(session: FunctionContext, database: str) -> Iterator[Row]:
    """sybsecurity..ch_events: the configuration history."""
    return session.shared.history.events()


def sysattributes(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysattributes: class 3, cache bindings; databases in master, tables in their own database."""
    for binding in session.server.table("simCacheBindings"):
        name, home = binding["ObjectName"], str(binding["DBName"])
        row = {"class": 3, "attribute": 0, "int_value": 1, "char_value": binding["CacheName"]}
        if name is None and database == "master":
            yield row | {"object_type": "D", "object": session.names.databases().get(home)}
        elif name is not None and database == home:
            yield row | {
                "object_type": "T",
                "object": session.names.object_id(f"{home}..{name}"),
                "object_info1": 0,
            }


def sysdatabases(session: FunctionContext, database: str) -> Iterable[Row]:
    """sysdatabases."""
    return session.names.database_rows()


def syslogins(session: FunctionContext, database: str) -> Iterator[Row]:
    """syslogins: the workload's and those of the simulator's clients."""
    rows = {str(row["name"]): dict(row) for row in session.server.table("syslogins")}
    for login in session.shared.logins:
        row = rows.setdefault(
            login.name,
            {
                "accdate": boot_time(session.server),
                "pwdate": boot_time(session.server),
                "totcpu": 0,
                "totio": 0,
            },
        )
        locked = login.locked or login.name in session.server.locked_logins
        row.update(
            suid=login.suid, name=login.name, dbname=login.database, language=login.language,
            fullname=login.full_name or None, status=_LOCKED if locked else 0, logincount=login.failures,
        )  # fmt: skip
    yield from sorted(rows.values(), key=lambda row: int(str(row["suid"])))


def sysloginroles(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysloginroles: which login has which role."""
    for login in session.shared.logins:
        for role in login.roles:
            yield {"suid": login.suid, "srid": ROLES[role], "status": 1}


def syssrvroles(session: FunctionContext, database: str) -> Iterator[Row]:
    """syssrvroles: the roles of the server."""
    for name, number in ROLES.items():
        yield {"srid": number, "name": name, "status": 0, "logincount": 0}


def sysroles(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysroles: the roles as a database numbers them."""
    for number in ROLES.values():
        yield {"id": number, "lrid": 16384 + number, "type": 0, "status": 0}


def sysusers(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysusers: dbo, guest, public, and one row for each role."""
    for suid, uid, gid, name in ((1, 1, 0, "dbo"), (-1, 2, 0, "guest"), (-2, 0, 0, "public")):
        yield {"suid": suid, "uid": uid, "gid": gid, "name": name}
    for name, number in ROLES.items():
        yield {"suid": -2, "uid": 16384 + number, "gid": 16384 + number, "name": name}


def sysservers(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysservers: this server, and before 15.0.3 the one behind which the monitoring tables are."""
    names = [session.server.name] + (["loopback"] if session.profile.level < (15, 0, 3, 0, 0) else [])
    for number, name in enumerate(names):
        yield {
            "srvid": number, "srvstatus": 0, "srvname": name, "srvnetname": session.server.name, "srvclass": 1,
        }  # fmt: skip


def sysmessages(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysmessages: the messages of this server."""
    for number, (severity, _, text) in all_messages().items():
        yield {
            "error": number,
            "severity": severity,
            "dlevel": 0,
            "description": text.replace("{}", "%1!"),
            "langid": 0,
        }


def syslanguages(session: FunctionContext, database: str) -> Iterator[Row]:
    """syslanguages: the one that is always there."""
    yield {
        "langid": 0,
        "dateformat": "mdy",
        "datefirst": 7,
        "upgrade": 0,
        "name": _LANGUAGE,
        "alias": "english",
    }


def syscharsets(session: FunctionContext, database: str) -> Iterator[Row]:
    """syscharsets: the server's charset and sort order."""
    yield {
        "type": 1001,
        "id": 190,
        "csid": 0,
        "status": 0,
        "name": "utf8",
        "description": "Unicode 3.1 UTF-8 Character Set",
    }
    yield {
        "type": 2001,
        "id": 50,
        "csid": 190,
        "status": 0,
        "name": "bin_utf8",
        "description": "Binary sort order for UTF-8",
    }


def syssegments(session: FunctionContext, database: str) -> Iterator[Row]:
    """syssegments of one database."""
    for number, name in enumerate(("system", "default", "logsegment")):
        yield {"segment": number, "name": name, "status": 0}


def syslisteners(session: FunctionContext, database: str) -> Iterator[Row]:
    """syslisteners: one address, as the model knows no port."""
    yield {"net_type": "tcp", "address_info": "asehost 5000"}


def mon_open_object_activity(session: FunctionContext, database: str) -> Iterator[Row]:
    """monOpenObjectActivity: the workload's tables and those of clients."""
    yield from session.server.table("monOpenObjectActivity")
    numbers = session.names.databases()
    for (home, name), held in session.shared.permanent.by_name.items():
        changed = held.changed
        yield {
            "InstanceID": 0, "DBID": numbers.get(home), "ObjectID": held.number, "IndexID": 0, "DBName": home,
            "ObjectName": name, "LogicalReads": held.reads + sum(changed.values()), "PhysicalReads": 0, "APFReads": 0,
            "PagesRead": 0, "PhysicalWrites": 0, "PagesWritten": 0, "RowsInserted": changed["insert"],
            "RowsDeleted": changed["delete"], "RowsUpdated": changed["update"], "Operations": held.reads,
            "UsedCount": held.reads, "Inserts": changed["insert"], "Updates": changed["update"],
            "Deletes": changed["delete"], "LockRequests": sum(changed.values()), "LockWaits": 0,
        }  # fmt: skip


_PRODUCERS: dict[str, Callable[[FunctionContext, str], Iterable[Row]]] = {
    "monTables": mon_tables,
    "monTableColumns": mon_table_columns,
    "monTableParameters": mon_table_parameters,
    "monOpenObjectActivity": mon_open_object_activity,
    "ch_events": ch_events,
    "sysconfigures": sysconfigures,
    "syscurconfigs": syscurconfigs,
    "sysattributes": sysattributes,
    "sysdatabases": sysdatabases,
    "sysobjects": sysobjects,
    "syscolumns": syscolumns,
    "systypes": systypes,
    "sysindexes": sysindexes,
    "syslogins": syslogins,
    "sysloginroles": sysloginroles,
    "syssrvroles": syssrvroles,
    "sysroles": sysroles,
    "sysusers": sysusers,
    "sysservers": sysservers,
    "sysmessages": sysmessages,
    "syslanguages": syslanguages,
    "syscharsets": syscharsets,
    "syssegments": syssegments,
    "syscomments": syscomments,
    "syslisteners": syslisteners,
    "spt_values": spt_values,
    "simKeys": sim_keys,
    "simParameters": sim_parameters,
}

DERIVED = {name: checked(name, produce) for name, produce in _PRODUCERS.items()}
