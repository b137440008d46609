"""sp_pkeys, sp_statistics, sp_procxmode, sp_helprotect, sp_transactions and sp_helpthreshold."""

from collections.abc import Iterator

from ase_simulator.results import Message, Result
from ase_simulator.sql.procedures.registry import ProcedureCall, procedure, table
from ase_simulator.sql.state.tables import PermanentTable
from ase_simulator.sql.syntax.statements import Constraint

_TABLE_STATISTICS, _OTHER_INDEX = 0, 3


def _found(call: ProcedureCall) -> PermanentTable | None:
    name = (call.text("@table_name") or "").split(".")[-1]
    return call.session.shared.permanent.find(call.session.database, name)


def _keys(held: PermanentTable | None) -> list[Constraint]:
    return [each for each in held.constraints if each.columns] if held else []


@procedure(
    "sp_pkeys",
    "@table_name varchar(255)",
    "@table_owner varchar(32) = null",
    "@table_qualifier varchar(255) = null",
)
def sp_pkeys(call: ProcedureCall) -> Iterator[Result]:
    """The columns of a table's primary key, which is the first of its unique keys."""
    held = _found(call)
    key = next(iter(_keys(held)), None)
    yield table(
        "table_qualifier varchar(255), table_owner varchar(255), table_name varchar(255), column_name varchar(255), "
        "key_seq smallint",
        [
            (call.session.database, "dbo", held.table.name, column, place)
            for place, column in enumerate(key.columns if key and held else (), 1)
            if held
        ],
    )


@procedure(
    "sp_statistics",
    "@table_name varchar(255)",
    "@table_owner varchar(32) = null",
    "@table_qualifier varchar(255) = null",
    "@index_name varchar(255) = '%'",
    "@is_unique char(1) = 'N'",
)
def sp_statistics(call: ProcedureCall) -> Iterator[Result]:
    """The rows of a table, and the columns of its unique indexes."""
    held = _found(call)
    rows: list[tuple[object, ...]] = []
    if held is not None:
        common = (call.session.database, "dbo", held.table.name)
        rows.append((*common, None, None, None, _TABLE_STATISTICS, None, None, None, len(held.rows), 1))
        for key in _keys(held):
            for place, column in enumerate(key.columns, 1):
                rows.append(
                    (
                        *common,
                        0,
                        held.table.name,
                        key.name,
                        _OTHER_INDEX,
                        place,
                        column,
                        "A",
                        len(held.rows),
                        1,
                    )
                )
    yield table(
        "table_qualifier varchar(255), table_owner varchar(255), table_name varchar(255), non_unique smallint, "
        "index_qualifier varchar(255), index_name varchar(255), type smallint, seq_in_index smallint, "
        "column_name varchar(255), collation char(1), cardinality int, pages int",
        rows,
    )


@procedure("sp_procxmode", "@procname varchar(255) = null", "@tranmode varchar(30) = null")
def sp_procxmode(call: ProcedureCall) -> Iterator[Result]:
    """The transaction modes of procedures; setting one changes nothing."""
    made = [name for database, name in call.session.shared.procedures if database == call.session.database]
    name = call.text("@procname")
    wanted = None if name is None else name.split(".")[-1]
    shown = [name for name in sorted(made) if wanted in (None, name)]
    if wanted is not None and not shown:
        call.status = 1
        yield Message(17461, 16, 1, "Object does not exist in this database.", "sp_procxmode")
    elif call.text("@tranmode") is None:
        columns = "[procedure name] varchar(255), [user name] varchar(30), [transaction mode] varchar(30)"
        yield table(columns, [(name, "dbo", "Unchained") for name in shown])


@procedure(
    "sp_helprotect", "@name varchar(255) = null", "@username varchar(255) = null", "@grant varchar(30) = null"
)
def sp_helprotect(call: ProcedureCall) -> Iterator[Result]:
    """The permissions of a database: grants are accepted and not kept, so that dbo's alone are listed."""
    yield table(
        "grantor varchar(30), grantee varchar(30), type varchar(10), action varchar(30), object varchar(255), "
        "column varchar(255), grantable varchar(10)",
        [
            ("dbo", "public", "Grant", "Select", each.name, "All", "FALSE")
            for each in sorted(call.session.names.visible_tables(), key=lambda each: each.name)
            if each.name.startswith("sys") and call.text("@name") in (None, each.name)
        ],
    )


@procedure("sp_transactions", "@option varchar(30) = null", "@value varchar(255) = null")
def sp_transactions(call: ProcedureCall) -> Iterator[Result]:
    """The open transactions, as systransactions has them."""
    databases = {number: name for name, number in call.session.names.databases().items()}
    yield table(
        "xactkey varbinary(14), type varchar(11), coordinator varchar(10), starttime datetime, state varchar(17), "
        "connection varchar(9), dbid smallint, spid smallint, loid int, failover varchar(26), srvname varchar(30), "
        "namelen smallint, xactname varchar(255)",
        [
            (
                row.get("xactid"), "Local", "None", row.get("starttime"), "Begun", "Attached", row.get("dbid"),
                row.get("spid"), row.get("xloid"), "Resident Tx", None, len(str(row["name"])), row["name"],
            )
            for row in call.rows("syslogshold")
            if row.get("spid") and row.get("dbid") in databases
        ],
    )  # fmt: skip


@procedure("sp_helpthreshold", "@segname varchar(255) = null")
def sp_helpthreshold(call: ProcedureCall) -> Iterator[Result]:
    """The last-chance threshold of the current database, the only one it has."""
    number = call.session.names.databases()[call.session.database]
    usages = [row for row in call.rows("sysusages") if row["dbid"] == number]
    logs = [int(str(row.get("size") or 0)) for row in usages if int(str(row.get("segmap") or 0)) == 4]
    wanted = call.text("@segname")
    shown = [("logsegment", sum(logs) // 100, 1, "sp_thresholdaction")] if logs else []
    yield table(
        "[segment name] varchar(255), [free pages] int, [last chance?] tinyint, [threshold procedure] varchar(255)",
        [row for row in shown if wanted in (None, row[0])],
    )


@procedure("sp_hidetext", "@objname varchar(255) = null", "@tabname varchar(255) = null")
def sp_hidetext(call: ProcedureCall) -> Iterator[Result]:
    """Removes the text of a client's procedure, or of all, from syscomments."""
    name = call.text("@objname")
    for (database, known), made in call.session.shared.procedures.items():
        if database == call.session.database and (name is None or known == name.split(".")[-1]):
            made.text = ""
    yield from ()
