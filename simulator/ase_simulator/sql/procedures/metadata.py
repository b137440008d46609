"""sp_help, sp_columns, sp_tables, sp_datatype_info, sp_version, sp_helpserver and other metadata procedures."""

from collections.abc import Iterator

from ase_simulator.results import Message, Result, Type, TypeName
from ase_simulator.schema.catalog import TableDefinition
from ase_simulator.schema.types import byte_length
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.lookup.server_facts import boot_time
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table
from ase_simulator.sql.types.patterns import like
from ase_simulator.sql.types.rules import digits

# ODBC's numbers for ASE's types
_ODBC: dict[TypeName, int] = {
    "bit": -7,
    "tinyint": -6,
    "unsigned tinyint": -6,
    "smallint": 5,
    "int": 4,
    "bigint": -5,
    "unsigned smallint": 5,
    "unsigned int": 4,
    "unsigned bigint": -5,
    "real": 7,
    "float": 8,
    "numeric": 2,
    "decimal": 3,
    "money": 3,
    "smallmoney": 3,
    "datetime": 93,
    "smalldatetime": 93,
    "date": 91,
    "time": 92,
    "bigdatetime": 93,
    "bigtime": 92,
    "char": 1,
    "varchar": 12,
    "nchar": 1,
    "nvarchar": 12,
    "unichar": -8,
    "univarchar": -9,
    "binary": -2,
    "varbinary": -3,
    "text": -1,
    "unitext": -10,
    "image": -4,
}
_QUOTED = frozenset({1, 12, -1, -8, -9, -10, 91, 92, 93})


@procedure("sp_version", "@script_file varchar(255) = null", "@option varchar(20) = null")
def sp_version(call: ProcedureCall) -> Iterator[Result]:
    """The versions of the install scripts."""
    level = call.session.profile.level
    text = f"{level[0]}.{level[1]}.{level[2]}.{level[3]}"
    yield table(
        "[Script] varchar(30), [Version] varchar(255), [Status] varchar(10)",
        [
            (script, f"{text}/{call.session.profile.key}", "Complete")
            for script in ("installmaster", "installmodel")
        ],
    )


@procedure("sp_helpserver", "@server varchar(255) = null")
def sp_helpserver(call: ProcedureCall) -> Iterator[Result]:
    """The remote servers."""
    name = call.server.name
    servers = [(name, name, "", "0", 10.0)]
    if call.session.profile.level < (15, 0, 3, 0, 0):
        servers.append(("loopback", name, "timeouts", "1", 10.0))
    wanted = call.text("@server")
    shown = [server for server in servers if wanted in (None, server[0])]
    if not shown:
        call.status = 1
        yield Message(17270, 16, 1, f"There is not a server named '{wanted}'.", "sp_helpserver")
        return
    yield table(
        "[name] varchar(30), [network_name] varchar(255), [status] varchar(255), [id] char(4), [cost] float",
        shown,
    )


@procedure("sp_help", "@objname varchar(255) = null")
def sp_help(call: ProcedureCall) -> Iterator[Result]:
    """The objects of the current database, or the columns of one."""
    session = call.session
    name = call.text("@objname")
    if name is None:
        yield table(
            "[Name] varchar(255), [Owner] varchar(30), [Object_type] varchar(32)",
            [
                (each.name, "dbo", "system table" if each.name.startswith("sys") else "user table")
                for each in sorted(session.names.visible_tables(), key=lambda each: each.name)
            ],
        )
        return
    if name.count(".") == 2 and name.split(".")[0] not in ("", session.database):
        raise SqlError(17460)
    found = session.names.find_table(name)
    if found is None:
        call.status = 1
        yield Message(17461, 16, 1, "Object does not exist in this database.", "sp_help")
        return
    yield table(
        "[Name] varchar(255), [Owner] varchar(30), [Object_type] varchar(32), [Object_status] "
        "varchar(255), [Create_date] datetime",
        [
            (
                found.name,
                "dbo",
                "system table" if found.name.startswith("sys") else "user table",
                " -- none --",
                boot_time(session.server),
            )
        ],
    )
    yield table(
        "[Column_name] varchar(255), [Type] varchar(30), [Length] int, [Prec] tinyint, [Scale] tinyint, "
        "[Nulls] bit, [Not_compressed] bit, [Default_name] varchar(255), [Rule_name] varchar(255), "
        "[Access_Rule_name] varchar(255), [Computed_Column_object] varchar(255), [Identity] bit",
        [
            (
                column.name,
                column.type.name,
                byte_length(column.type),
                column.type.precision or None,
                column.type.scale if column.type.precision else None,
                True,
                False,
                None,
                None,
                None,
                None,
                False,
            )
            for column in found.columns
        ],
    )
    yield print_line("Object does not have any indexes.")
    yield print_line("No defined keys for this object.")


@procedure(
    "sp_helptext",
    "@objname varchar(255)",
    "@grouping_num int = null",
    "@numlines int = null",
    "@printopts varchar(256) = null",
)
def sp_helptext(call: ProcedureCall) -> Iterator[Result]:
    """The text of a client procedure."""
    name = (call.text("@objname") or "").split(".")[-1]
    made = call.session.shared.procedures.get((call.session.database, name))
    if made is None:
        call.status = 1
        yield Message(17461, 16, 1, "Object does not exist in this database.", "sp_helptext")
        return
    parts = [made.text[start : start + 255] for start in range(0, len(made.text), 255)]
    yield table("[# Lines of Text] int", [(len(parts),)])
    yield table("[text] varchar(255)", [(part,) for part in parts])


@procedure("sp_helpindex", "@objname varchar(255)")
def sp_helpindex(call: ProcedureCall) -> Iterator[Result]:
    """The indexes of a table."""
    if call.session.names.find_table(call.text("@objname") or "") is None:
        call.status = 1
        yield Message(17461, 16, 1, "Object does not exist in this database.", "sp_helpindex")
        return
    yield print_line("Object does not have any indexes.")


@procedure(
    "sp_tables",
    "@table_name varchar(771) = null",
    "@table_owner varchar(32) = null",
    "@table_qualifier varchar(32) = null",
    "@table_type varchar(100) = null",
)
def sp_tables(call: ProcedureCall) -> Iterator[Result]:
    """The tables of the current database in ODBC's layout."""
    session = call.session
    wanted = call.text("@table_name")
    rows = [
        (session.database, "dbo", each.name, "SYSTEM TABLE" if each.name.startswith("sys") else "TABLE", None)
        for each in sorted(session.names.visible_tables(), key=lambda each: each.name)
        if wanted is None or like(each.name, wanted)
    ]
    yield table(
        "[table_qualifier] varchar(30), [table_owner] varchar(30), [table_name] varchar(255), "
        "[table_type] varchar(12), [remarks] varchar(254)",
        rows,
    )


@procedure(
    "sp_columns",
    "@table_name varchar(771)",
    "@table_owner varchar(32) = null",
    "@table_qualifier varchar(32) = null",
    "@column_name varchar(771) = null",
)
def sp_columns(call: ProcedureCall) -> Iterator[Result]:
    """The columns of a table in ODBC's layout."""
    session = call.session
    wanted = call.text("@column_name")
    rows = []
    for each in session.names.visible_tables():
        if not like(each.name, call.text("@table_name") or "%"):
            continue
        rows += [
            row
            for row in _odbc_columns(session.database, each)
            if wanted is None or like(str(row[3]), wanted)
        ]
    yield table(
        "[table_qualifier] varchar(30), [table_owner] varchar(30), [table_name] varchar(255), "
        "[column_name] varchar(255), [data_type] smallint, [type_name] varchar(30), [precision] int, "
        "[length] int, "
        "[scale] smallint, [radix] smallint, [nullable] smallint, [remarks] varchar(254), "
        "[ss_data_type] smallint, [colid] smallint",
        rows,
    )


def _odbc_columns(database: str, found: TableDefinition) -> list[tuple[object, ...]]:
    return [
        (
            database,
            "dbo",
            found.name,
            column.name,
            _ODBC[column.type.name],
            column.type.name,
            _precision(column.type),
            byte_length(column.type),
            column.type.scale or None,
            None,
            1,
            None,
            None,
            place,
        )
        for place, column in enumerate(found.columns, 1)
    ]


def _precision(type_: Type) -> int:
    return type_.length or digits(type_)[0]


@procedure("sp_datatype_info", "@data_type int = 0")
def sp_datatype_info(call: ProcedureCall) -> Iterator[Result]:
    """The types in ODBC's layout; all, or those of one ODBC type number."""
    wanted = call.number("@data_type") or 0
    rows = []
    for name, number in sorted(_ODBC.items(), key=lambda item: item[1]):
        if wanted not in (0, number) or name.startswith("unsigned"):
            continue
        quote = "'" if number in _QUOTED else None
        size = (
            255
            if name in ("char", "varchar", "nchar", "nvarchar", "binary", "varbinary")
            else digits(Type(name))[0]
        )
        rows.append(
            (name, number, size, quote, quote, None, 1, 1, 3, 0, 0, 0, name, 0, 0, number, None, None, None)
        )
    yield table(
        "[TYPE_NAME] varchar(30), [DATA_TYPE] smallint, [PRECISION] int, [LITERAL_PREFIX] varchar(32), "
        "[LITERAL_SUFFIX] varchar(32), [CREATE_PARAMS] varchar(32), [NULLABLE] smallint, "
        "[CASE_SENSITIVE] smallint, "
        "[SEARCHABLE] smallint, [UNSIGNED_ATTRIBUTE] smallint, [MONEY] smallint, [AUTO_INCREMENT] smallint, "
        "[LOCAL_TYPE_NAME] varchar(128), [MINIMUM_SCALE] smallint, [MAXIMUM_SCALE] smallint, "
        "[SQL_DATA_TYPE] smallint, [SQL_DATETIME_SUB] smallint, [NUM_PREC_RADIX] smallint, "
        "[INTERVAL_PRECISION] smallint",
        rows,
    )


@procedure("sp_helpsort")
def sp_helpsort(call: ProcedureCall) -> Iterator[Result]:
    """Charset and sort order."""
    yield print_line("Sort Order Description")
    yield table(
        "[Sort Order] varchar(255)",
        [
            ("Character Set = 190, utf8",),
            ("    Unicode 3.1 UTF-8 Character Set",),
            ("Sort Order = 50, bin_utf8",),
            ("    Binary sort order for the ISO 10646-1, UTF-8 multibyte encoding.",),
        ],
    )


@procedure("sp_server_info", "@attribute_id int = null")
def sp_server_info(call: ProcedureCall) -> Iterator[Result]:
    """Server attributes that ODBC and JDBC drivers read."""
    facts = {
        1: ("DBMS_NAME", "Adaptive Server Enterprise"),
        2: ("DBMS_VER", call.session.profile.banner),
        10: ("OWNER_TERM", "owner"),
        11: ("TABLE_TERM", "table"),
        16: ("IDENTIFIER_CASE", "MIXED"),
        18: ("COLLATION_SEQ", "charset=utf8 sort_order=bin_utf8"),
        22: ("MAX_QUAL_TABLE_NAME_LENGTH", "255"),
    }
    wanted = call.number("@attribute_id")
    yield table(
        "[attribute_id] int, [attribute_name] varchar(60), [attribute_value] varchar(255)",
        [(number, *fact) for number, fact in facts.items() if wanted in (None, number)],
    )


@procedure("sp_helplanguage", "@language varchar(30) = null")
def sp_helplanguage(call: ProcedureCall) -> Iterator[Result]:
    """The languages installed."""
    yield table(
        "[langid] smallint, [dateformat] char(3), [datefirst] tinyint, [name] varchar(30), [alias] "
        "varchar(30)",
        [(0, "mdy", 7, "us_english", "english")],
    )
