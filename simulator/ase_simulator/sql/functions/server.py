"""Functions about the server, its databases, objects, logins and roles."""

import csv
import uuid
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from ase_simulator.results import Type
from ase_simulator.schema.types import parse_type
from ase_simulator.sql.context import FunctionContext
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import Kind, function
from ase_simulator.sql.lookup.server_facts import cached_text, running_text
from ase_simulator.sql.lookup.space import database_pages, free_pages, log_pages, object_pages
from ase_simulator.sql.types.convert import parse_moment
from ase_simulator.sql.types.rules import INT, SMALLINT, TINYINT, varchar
from ase_simulator.sql.types.values import EngineValue

NAME = varchar(30)
LONG_NAME = varchar(255)
_ROWS_PER_PAGE = 20


@function("db_name", "int", returns=LONG_NAME, optional=1, session=True)
def _db_name(session: FunctionContext, number: Any = -1) -> EngineValue:
    if number == -1:
        return str(session.database)
    names = {number: name for name, number in session.names.databases().items()}
    return names.get(number)


@function("db_id", "string", returns=SMALLINT, optional=1, session=True)
def _db_id(session: FunctionContext, name: Any = None) -> EngineValue:
    return session.names.databases().get(session.database if name is None else name.rstrip(" "))


@function("object_name", "int", "int", returns=LONG_NAME, optional=1, session=True)
def _object_name(session: FunctionContext, number: Any, database: Any = None) -> EngineValue:
    return session.names.object_name(number, database)


@function("mdaconfig", "string", "string", returns=INT, session=True)
def _mdaconfig(session: FunctionContext, option: Any, action: Any) -> EngineValue:
    if str(option).lower() != "freeze":
        raise SqlError(102, option)
    session.freeze(str(action).lower())
    return 0


@function("show_cached_text", "int", returns=varchar(16384), session=True)
def _show_cached_text(session: FunctionContext, number: Any) -> EngineValue:
    return cached_text(session.server, number)


@function("show_cached_text_long", "int", returns=Type("text"), session=True)
def _show_cached_text_long(session: FunctionContext, number: Any) -> EngineValue:
    return cached_text(session.server, number)


@function("show_cached_plan_in_xml", "int", "int", "int", returns=Type("text"), optional=1, session=True)
def _show_cached_plan_in_xml(
    session: FunctionContext, number: Any, plan: Any, _detail: Any = 0
) -> EngineValue:
    """The statement without the steps of its plan."""
    text = cached_text(session.server, number)
    if text is None:
        return None
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<query version="1.0">\n <planVersion>1.0</planVersion>\n'
        f" <statementId>{number}</statementId>\n <text><![CDATA[SQL Text: {text}]]></text>\n"
        f" <plan>\n  <planId>{plan}</planId>\n </plan>\n</query>"
    )


@function("query_text", "int", returns=varchar(16384), session=True)
def _query_text(session: FunctionContext, spid: Any) -> EngineValue:
    return running_text(session.server, spid)


@function("syb_quit", returns=INT, pure=False, session=True)
def _syb_quit(session: FunctionContext) -> EngineValue:
    session.shared.sessions[session.spid].kill()
    raise SqlError(6002)


@function("set_appcontext", "string", "string", "string", returns=INT, pure=False, session=True)
def _set_appcontext(session: FunctionContext, context: Any, name: Any, value: Any) -> EngineValue:
    """0, or -1 for an attribute that is set already."""
    contexts = session.settings.contexts
    return 0 if contexts.setdefault((context, name), value) is value else -1


@function("get_appcontext", "string", "string", returns=LONG_NAME, pure=False, session=True)
def _get_appcontext(session: FunctionContext, context: Any, name: Any) -> EngineValue:
    return session.settings.contexts.get((context, name))


@function("rm_appcontext", "string", "string", returns=INT, pure=False, session=True)
def _rm_appcontext(session: FunctionContext, context: Any, name: Any) -> EngineValue:
    return 0 if session.settings.contexts.pop((context, name), None) is not None else -1


@function("object_id", "string", returns=INT, session=True)
def _object_id(session: FunctionContext, name: Any) -> EngineValue:
    return None if name is None else session.names.object_id(name.rstrip(" "))


@function("object_owner_id", "int", "int", returns=INT, optional=1)
def _object_owner_id(number: Any, _database: Any = None) -> EngineValue:
    return None if number is None else 1


@function("index_name", "int", "int", "int", returns=LONG_NAME, session=True)
def _index_name(session: FunctionContext, database: Any, number: Any, index: Any) -> EngineValue:
    return session.names.index_name(database, number, index)


@function("col_name", "int", "int", "int", returns=LONG_NAME, optional=1, session=True)
def _col_name(session: FunctionContext, number: Any, column: Any, database: Any = None) -> EngineValue:
    return session.names.column_name(number, column, database)


@function("col_length", "string", "string", returns=INT, session=True)
def _col_length(session: FunctionContext, table: Any, column: Any) -> EngineValue:
    return session.names.column_length(table, column)


@function("suser_name", "int", returns=NAME, optional=1, session=True)
def _suser_name(session: FunctionContext, number: Any = -1) -> EngineValue:
    return session.names.login_name(None if number == -1 else number)


@function("suser_id", "string", returns=INT, optional=1, session=True)
def _suser_id(session: FunctionContext, name: Any = None) -> EngineValue:
    return session.names.login_number(name)


@function("user_name", "int", returns=NAME, optional=1, session=True)
def _user_name(session: FunctionContext, number: Any = None) -> EngineValue:
    return session.names.user_name(number)


@function("user_id", "string", returns=INT, optional=1, session=True)
def _user_id(session: FunctionContext, name: Any = None) -> EngineValue:
    return session.names.user_number(name)


@function("host_name", returns=NAME, session=True)
def _host_name(session: FunctionContext) -> EngineValue:
    return str(session.request.hostname) or None


@function("host_id", returns=NAME, session=True)
def _host_id(session: FunctionContext) -> EngineValue:
    return str(session.request.process) or None


@function("app_name", returns=NAME, session=True)
def _app_name(session: FunctionContext) -> EngineValue:
    return str(session.request.program) or None


@function("show_role", returns=LONG_NAME, session=True)
def _show_role(session: FunctionContext) -> EngineValue:
    return " ".join(session.roles) or None


@function("proc_role", "string", returns=INT, session=True)
def _proc_role(session: FunctionContext, role: Any) -> EngineValue:
    return None if role is None else int(role.rstrip(" ") in session.roles)


@function("has_role", "string", "int", returns=INT, optional=1, session=True)
def _has_role(session: FunctionContext, role: Any, _option: Any = None) -> EngineValue:
    return None if role is None else int(role.rstrip(" ") in session.roles)


@function("role_id", "string", returns=SMALLINT, session=True)
def _role_id(session: FunctionContext, role: Any) -> EngineValue:
    return session.names.role_number(role)


@function("role_name", "int", returns=NAME, session=True)
def _role_name(session: FunctionContext, number: Any) -> EngineValue:
    return session.names.role_name(number)


@function("instance_id", "string", returns=TINYINT, optional=1, session=True)
def _instance_id(session: FunctionContext, _name: Any = None) -> EngineValue:
    return 1 if session.profile.cluster else 0


@function("instance_name", "int", returns=NAME, optional=1, session=True)
def _instance_name(session: FunctionContext, _number: Any = None) -> EngineValue:
    return str(session.server.name)


@function("valid_name", "string", "int", returns=INT, optional=1)
def _valid_name(name: Any, _length: Any = None) -> EngineValue:
    return int(bool(name) and (name[0].isalpha() or name[0] in "_#"))


@function("valid_user", "int", returns=INT, session=True)
def _valid_user(session: FunctionContext, number: Any) -> EngineValue:
    return int(session.names.login_name(number) is not None)


@function("newid", "int", returns=varchar(36), optional=1, pure=False)
def _newid(style: Any = 0) -> EngineValue:
    return str(uuid.uuid4()) if style else uuid.uuid4().hex


@function("isnumeric", "any", returns=INT)
def _isnumeric(value: Any) -> EngineValue:
    try:
        float(value)
    except (TypeError, ValueError):
        return 0
    return 1


@function("isdate", "any", returns=INT)
def _isdate(value: Any) -> EngineValue:
    return int(isinstance(value, str) and parse_moment(value) is not None)


@function("curunreservedpgs", "int", "int", "int", returns=INT, session=True)
def _curunreservedpgs(session: FunctionContext, database: Any, start: Any, _unreserved: Any) -> EngineValue:
    return free_pages(session.server, database, start)


def _pages_function(name: str) -> None:
    @function(name, "int", "int", "int", "int", returns=INT, optional=2, session=True)
    def run(
        session: FunctionContext, database: Any, number: Any, index: Any = None, _part: Any = None
    ) -> EngineValue:
        return object_pages(session.server, database, number, index)


for _name in ("reserved_pages", "data_pages", "used_pages"):
    _pages_function(_name)


@function("lct_admin", "string", "int", "int", "int", returns=INT, optional=2, session=True)
def _lct_admin(
    session: FunctionContext, action: Any, database: Any, _third: Any = 0, _fourth: Any = 0
) -> EngineValue:
    return log_pages(session.server, action, database)


@function("row_count", "int", "int", "any", returns=Type("bigint"), optional=1, session=True)
def _row_count(session: FunctionContext, database: Any, number: Any, _partition: Any = None) -> EngineValue:
    """An estimate from the pages of the table."""
    pages = object_pages(session.server, database, number, 0)
    return None if pages is None else pages * _ROWS_PER_PAGE


@function("getdevicetype", "string", returns=INT, session=True)
def _getdevicetype(session: FunctionContext, path: Any) -> EngineValue:
    """1 a raw device, 2 a block device, 3 a file; 0 for a path that no device has."""
    known = {str(row.get("phyname")) for row in session.server.table("sysdevices")}
    return 3 if path in known or path in ("TRUE", "default") else 0


@function("spaceusage", "int", "int", "int", "int", returns=LONG_NAME, optional=4, session=True)
def _spaceusage(
    session: FunctionContext, database: Any = None, number: Any = None, index: Any = None, _part: Any = None
) -> EngineValue:
    """Pages of a database, or of one of its tables."""
    if database is None:
        database = session.names.databases().get(session.database)
    if number is None:
        pages = database_pages(session.server, database)
        return ", ".join(f"{name} = {value}" for name, value in pages.items())
    used = object_pages(session.server, database, number, index)
    return None if used is None else f"reserved pages = {used}, used pages = {used}, data pages = {used}"


def _constant_function(
    name: str, kinds: Sequence[Kind], optional: int, type_: Type, value: EngineValue
) -> None:
    function(name, *kinds, returns=type_, optional=optional)(lambda *_arguments: value)


def _constant_functions() -> Iterator[str]:
    """Registers those of constants.csv, whose answer is always the same; yields their names."""
    lines = files(__package__).joinpath("constants.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        type_ = parse_type(row["type"])
        assert type_ is not None, row
        text = row["value"]
        value: EngineValue = text or None if type_.name == "varchar" else int(text) if text else None
        kinds: Sequence[Kind] = row["arguments"].split()  # type: ignore[assignment]
        _constant_function(row["name"], kinds, int(row["optional"]), type_, value)
        yield row["name"]


CONSTANT = frozenset(_constant_functions())
"""Functions that are approximated by one answer."""


def _old_pages_function(name: str, index: int | None) -> None:
    @function(name, "int", "int", "int", returns=INT, optional=1, session=True)
    def run(session: FunctionContext, number: Any, _first: Any, _second: Any = None) -> EngineValue:
        database = session.names.databases().get(session.database)
        return object_pages(session.server, database, number, index)


for _name, _index in (("data_pgs", 0), ("reserved_pgs", None), ("used_pgs", None)):
    _old_pages_function(_name, _index)


@function("pssinfo", "int", "string", returns=LONG_NAME, session=True)
def _pssinfo(session: FunctionContext, spid: Any, name: Any) -> EngineValue:
    row = session.names.process(spid)
    if row is None:
        return None
    known = {
        "ipaddr": str(row.get("ipaddr") or "0.0.0.0"),
        "ipport": "0",
        "isolation_level": "1",
        "tempdb_pages": "0",
        "extusername": None,
        "dn": None,
    }
    return known.get(str(name).strip().lower())
