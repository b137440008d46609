"""Functions about the server, its databases, objects, logins and roles."""

from typing import Any

from ase_simulator.sql.context import Context
from ase_simulator.sql.functions.registry import function
from ase_simulator.sql.lookup.space import free_pages, log_pages, object_pages
from ase_simulator.sql.types.rules import INT, SMALLINT, varchar
from ase_simulator.sql.types.values import EngineValue

NAME = varchar(30)
LONG_NAME = varchar(255)
_LONG_TEXT = varchar(16384)


@function("db_name", "int", returns=LONG_NAME, optional=1, session=True)
def _db_name(session: Context, number: Any = -1) -> EngineValue:
    if number == -1:
        return session.database
    return next((name for name, known in session.names.databases().items() if known == number), None)


@function("show_cached_text", "int", returns=_LONG_TEXT, session=True)
def _show_cached_text(session: Context, number: Any) -> EngineValue:
    rows = session.names.snapshot.rows("monCachedStatement", "SSQLID", number)
    return str(rows[0].get("SQLText")) if rows else None


@function("query_text", "int", returns=_LONG_TEXT, session=True)
def _query_text(session: Context, spid: Any) -> EngineValue:
    lines = session.names.snapshot.rows("monProcessSQLText", "SPID", spid)
    return "".join(str(row.get("SQLText") or "") for row in lines) or None


def _object_pages(
    session: Context, database: Any, number: Any, index: Any = None, _part: Any = None
) -> EngineValue:
    return object_pages(session.names.snapshot, database, number, index)


for _name in ("reserved_pages", "data_pages", "used_pages"):
    function(_name, "int", "int", "int", "int", returns=INT, optional=2, session=True, strict=True)(
        _object_pages
    )


# A server outside of HADR.
function("hadr_mode", returns=NAME)(lambda: "Disabled")
function("hadr_state", returns=NAME)(lambda: "Inactive")


def _has_role(session: Context, role: Any, _option: Any = None) -> EngineValue:
    return int(role.rstrip(" ") in session.roles)


function("proc_role", "string", returns=INT, session=True, strict=True)(_has_role)
function("has_role", "string", "int", returns=INT, optional=1, session=True, strict=True)(_has_role)
function("db_id", "string", returns=SMALLINT, optional=1, session=True)(
    lambda session, name=None: session.names.databases().get(
        session.database if name is None else name.rstrip(" ")
    )
)
function("object_name", "int", "int", returns=LONG_NAME, optional=1, session=True, strict=True)(
    lambda session, number, database=None: session.names.object_name(number, database)
)
function("object_id", "string", returns=INT, session=True, strict=True)(
    lambda session, name: session.names.object_id(name.rstrip(" "))
)
function("curunreservedpgs", "int", "int", "int", returns=INT, session=True)(
    lambda session, database, start, _free: free_pages(session.names.snapshot, database, start)
)
function("lct_admin", "string", "int", "int", "int", returns=INT, optional=2, session=True)(
    lambda session, action, database, *_more: log_pages(session.names.snapshot, action, database)
)
function("suser_name", "int", returns=NAME, optional=1, session=True)(
    lambda session, number=-1: session.names.login_name(None if number == -1 else number)
)
function("suser_id", "string", returns=INT, optional=1, session=True)(
    lambda session, name=None: session.names.login_number(name)
)
function("show_role", returns=LONG_NAME, session=True)(lambda session: " ".join(session.roles) or None)
function("role_name", "int", returns=NAME, session=True)(
    lambda session, number: session.names.role_name(number)
)
