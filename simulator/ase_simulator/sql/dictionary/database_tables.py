"""The data dictionary: sysobjects, syscolumns, systypes, sysindexes, syscomments, spt_values."""

import csv
from collections.abc import Iterator, Sequence
from importlib.resources import files

from ase_simulator.contracts import Row
from ase_simulator.schema.types import TYPE_NUMBERS, byte_length
from ase_simulator.sql.context import FunctionContext
from ase_simulator.sql.lookup.server_facts import boot_time
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.syntax.statements import Constraint

_HIDDEN = frozenset({"simKeys", "simParameters"})
_NULLABLE, _IDENTITY = 8, 128


def sysobjects(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysobjects of one database: system tables, the workload's tables, client objects."""
    common = {
        "uid": 1,
        "userstat": 0,
        "sysstat": 0,
        "sysstat2": 0,
        "crdate": boot_time(session.server),
        "loginame": "sa",
    }
    taken = set()
    for row in session.server.table("sysobjects"):
        if row["database"] == database:
            taken.add(row["name"])
            yield common | dict(row)
    for table in session.shared.catalog.tables.values():
        if table.scope in ("each", database) and table.name not in taken | _HIDDEN:
            kind = "S" if table.name.startswith("sys") else "U"
            yield common | {"name": table.name, "id": session.shared.object_ids[table.name], "type": kind}
    for made in session.shared.permanent.in_database(database):
        yield common | {"name": made.table.name, "id": made.number, "type": "U"}
    for (place, name), client in session.shared.procedures.items():
        if place == database:
            number = session.names.object_id(f"{place}..{name}")
            yield common | {"name": name, "id": number, "type": "P" if client.returns is None else "SF"}


def syscolumns(session: FunctionContext, database: str) -> Iterator[Row]:
    """syscolumns of one database."""
    shared = session.shared
    tables = [
        (t, shared.object_ids[t.name])
        for t in shared.catalog.tables.values()
        if t.scope in ("each", database)
    ]
    tables += [(made.table, made.number) for made in shared.permanent.in_database(database)]
    identities = {
        made.number: made.identity for made in shared.permanent.in_database(database) if made.identity
    }
    for table, number in tables:
        identity = identities.get(number)
        for place, column in enumerate(table.without(session.server.faults.missing_columns).columns, 1):
            type_number, user_type, _ = TYPE_NUMBERS[column.type.name]
            yield {
                "id": number, "number": 0, "colid": place,
                "status": _NULLABLE * column.nullable | _IDENTITY * (column.name == identity), "type": type_number,
                "length": byte_length(column.type), "offset": 0, "usertype": user_type, "cdefault": 0, "domain": 0,
                "name": column.name, "prec": column.type.precision or None, "scale": column.type.scale or None,
                "accessrule": 0, "status2": 0,
            }  # fmt: skip


def systypes(session: FunctionContext, database: str) -> Iterator[Row]:
    """systypes."""
    for hierarchy, (name, (number, user_type, length)) in enumerate(TYPE_NUMBERS.items(), 1):
        if name == "unsigned tinyint" or (
            name in ("bigint", "unsigned bigint") and session.profile.level[0] < 15
        ):
            continue
        yield {
            "uid": 1, "usertype": user_type, "variable": name.startswith(("var", "univar")), "allownulls": True,
            "type": number, "length": length, "tdefault": 0, "domain": 0, "name": name, "ident": 0,
            "hierarchy": hierarchy, "accessrule": 0,
        }  # fmt: skip
    for alias, user_type, length in (("sysname", 18, 30), ("longsysname", 42, 255), ("timestamp", 80, 8)):
        yield {
            "uid": 1, "usertype": user_type, "variable": True, "allownulls": False, "type": 39, "length": length,
            "tdefault": 0, "domain": 0, "name": alias, "ident": 0, "hierarchy": 29, "accessrule": 0,
        }  # fmt: skip


def sysindexes(session: FunctionContext, database: str) -> Iterator[Row]:
    """sysindexes of one database: the workload's tables and their indexes, then all other tables."""
    number = session.names.databases().get(database)
    shown = set()
    for row in session.server.table("monOpenObjectActivity"):
        if row["DBID"] == number:
            index = int(str(row["IndexID"]))
            shown.add(row["ObjectID"])
            yield {
                "name": row["ObjectName"] if index == 0 else f"{row['ObjectName']}_{index}",
                "id": row["ObjectID"], "indid": index, "segment": 1, "status": 2 * (index > 0),
                "keycnt": int(index > 0),
                "status2": 0, "crdate": boot_time(session.server),
            }  # fmt: skip
    for table in sysobjects(session, database):
        if table["type"] in ("S", "U") and table["id"] not in shown:
            yield {
                "name": table["name"], "id": table["id"], "indid": 0, "segment": 0, "status": 0, "keycnt": 0,
                "status2": 0, "crdate": table["crdate"],
            }  # fmt: skip
    yield from client_indexes(session, database)


def _indexes(table: ClientTable) -> Iterator[tuple[int, Constraint]]:
    """The keys and indexes of a client's table by indid: 1 is the clustered one."""
    keys = [each for each in table.constraints if each.columns and not each.references]
    first = next((each for each in keys if each.clustered), None)
    if first is not None:
        yield 1, first
    yield from enumerate((each for each in keys if each is not first), 2)


def client_indexes(session: FunctionContext, database: str) -> Iterator[Row]:
    """The rows of sysindexes for the indexes of clients' tables."""
    for made in session.shared.permanent.in_database(database):
        for number, key in _indexes(made):
            yield {
                "name": key.name, "id": made.number, "indid": number, "segment": 1, "status": 2 * key.unique,
                "keycnt": len(key.columns), "status2": 0, "crdate": boot_time(session.server),
            }  # fmt: skip


def sim_keys(session: FunctionContext, database: str) -> Iterator[Row]:
    """The columns of keys, indexes and foreign keys. kind: P, U, N or F. No ASE has this table."""
    for made in session.shared.permanent.in_database(database):
        for key in made.constraints:
            kind = "F" if key.references else "P" if key.primary else "U" if key.unique else "N"
            others: Sequence[str | None] = key.referenced or [None] * len(key.columns)
            for place, (column, other) in enumerate(zip(key.columns, others, strict=True), 1):
                yield {
                    "id": made.number, "keyname": key.name, "kind": kind, "seq": place, "name": column,
                    "clustered": int(key.clustered), "parent": key.references or None, "parentcolumn": other,
                }  # fmt: skip


def sim_parameters(session: FunctionContext, database: str) -> Iterator[Row]:
    """The parameters of clients' procedures. No ASE has this table."""
    for (place, name), made in session.shared.procedures.items():
        for number, spec in enumerate(made.parameters if place == database else (), 1):
            yield {
                "id": session.names.object_id(f"{place}..{name}"), "name": spec.name, "seq": number,
                "output": 2 if spec.output else 1, "type": spec.type.name, "length": byte_length(spec.type),
                "scale": spec.type.scale,
            }  # fmt: skip


def syscomments(session: FunctionContext, database: str) -> Iterator[Row]:
    """syscomments: the text of client procedures, in rows of 255 characters."""
    for (place, name), made in session.shared.procedures.items():
        if place == database:
            for part, start in enumerate(range(0, len(made.text), 255), 1):
                yield {
                    "id": session.names.object_id(f"{place}..{name}"), "number": 1, "colid": part, "texttype": 0,
                    "language": 0, "text": made.text[start : start + 255], "colid2": 0, "status": 0,
                }  # fmt: skip


def spt_values(session: FunctionContext, database: str) -> Iterator[Row]:
    """spt_values: names of lock types, device and database states, and numbers."""
    text = files(__package__).joinpath("spt_values.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        yield {
            "name": row["name"] or None, "number": int(row["number"]), "type": row["type"],
            "low": int(row["low"]) if row["low"] else None, "msgnum": None,
            "high": int(row["high"]) if row["high"] else None,
        }  # fmt: skip
    for number in range(256):
        yield {"name": None, "number": number, "type": "P", "low": number // 8 + 1, "high": 1 << number % 8}
