"""Functions about the server, its databases, objects, logins and roles."""

import uuid
from typing import Any

from ase_simulator.sql.convert import parse_moment
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import Context, function
from ase_simulator.sql.types import INT, SMALLINT, TINYINT, varchar
from ase_simulator.sql.values import EngineValue

NAME = varchar(30)
LONG_NAME = varchar(255)


@function("db_name", "int", returns=LONG_NAME, optional=1, session=True)
def _db_name(session: Context, number: Any = -1) -> EngineValue:
    if number == -1:
        return str(session.database)
    names = {number: name for name, number in session.databases().items()}
    return names.get(number)


@function("db_id", "string", returns=SMALLINT, optional=1, session=True)
def _db_id(session: Context, name: Any = None) -> EngineValue:
    return session.databases().get(session.database if name is None else name.rstrip(" "))  # type: ignore[no-any-return]


@function("db_instanceid", "any", returns=INT, optional=1)
def _db_instanceid(_database: Any = None) -> EngineValue:
    return None


@function("object_name", "int", "int", returns=LONG_NAME, optional=1, session=True)
def _object_name(session: Context, number: Any, database: Any = None) -> EngineValue:
    return session.object_name(number, database)  # type: ignore[no-any-return]


@function("mdaconfig", "string", "string", returns=INT, session=True)
def _mdaconfig(session: Context, option: Any, action: Any) -> EngineValue:
    if str(option).lower() != "freeze":
        raise SqlError(102, option)
    session.freeze(str(action).lower())
    return 0


@function("show_cached_text", "int", returns=varchar(16384), session=True)
def _show_cached_text(session: Context, number: Any) -> EngineValue:
    return session.cached_text(number)  # type: ignore[no-any-return]


@function("object_id", "string", returns=INT, session=True)
def _object_id(session: Context, name: Any) -> EngineValue:
    return None if name is None else session.object_id(name.rstrip(" "))


@function("object_owner_id", "int", "int", returns=INT, optional=1)
def _object_owner_id(number: Any, _database: Any = None) -> EngineValue:
    return None if number is None else 1


@function("index_name", "int", "int", "int", returns=LONG_NAME, session=True)
def _index_name(session: Context, database: Any, number: Any, index: Any) -> EngineValue:
    return session.index_name(database, number, index)  # type: ignore[no-any-return]


@function("col_name", "int", "int", "int", returns=LONG_NAME, optional=1, session=True)
def _col_name(session: Context, number: Any, column: Any, database: Any = None) -> EngineValue:
    return session.column_name(number, column, database)  # type: ignore[no-any-return]


@function("col_length", "string", "string", returns=INT, session=True)
def _col_length(session: Context, table: Any, column: Any) -> EngineValue:
    return session.column_length(table, column)  # type: ignore[no-any-return]


@function("suser_name", "int", returns=NAME, optional=1, session=True)
def _suser_name(session: Context, number: Any = -1) -> EngineValue:
    return session.login_name(None if number == -1 else number)  # type: ignore[no-any-return]


@function("suser_id", "string", returns=INT, optional=1, session=True)
def _suser_id(session: Context, name: Any = None) -> EngineValue:
    return session.login_number(name)  # type: ignore[no-any-return]


@function("user_name", "int", returns=NAME, optional=1, session=True)
def _user_name(session: Context, number: Any = None) -> EngineValue:
    return session.user_name(number)  # type: ignore[no-any-return]


@function("user_id", "string", returns=INT, optional=1, session=True)
def _user_id(session: Context, name: Any = None) -> EngineValue:
    return session.user_number(name)  # type: ignore[no-any-return]


@function("host_name", returns=NAME, session=True)
def _host_name(session: Context) -> EngineValue:
    return str(session.request.hostname) or None


@function("host_id", returns=NAME, session=True)
def _host_id(session: Context) -> EngineValue:
    return str(session.request.process) or None


@function("app_name", returns=NAME, session=True)
def _app_name(session: Context) -> EngineValue:
    return str(session.request.program) or None


@function("asehostname", returns=LONG_NAME)
def _asehostname() -> EngineValue:
    return "asehost"


@function("show_role", returns=LONG_NAME, session=True)
def _show_role(session: Context) -> EngineValue:
    return " ".join(session.roles) or None


@function("proc_role", "string", returns=INT, session=True)
def _proc_role(session: Context, role: Any) -> EngineValue:
    return None if role is None else int(role.rstrip(" ") in session.roles)


@function("has_role", "string", "int", returns=INT, optional=1, session=True)
def _has_role(session: Context, role: Any, _option: Any = None) -> EngineValue:
    return None if role is None else int(role.rstrip(" ") in session.roles)


@function("role_id", "string", returns=SMALLINT, session=True)
def _role_id(session: Context, role: Any) -> EngineValue:
    return session.role_number(role)  # type: ignore[no-any-return]


@function("role_name", "int", returns=NAME, session=True)
def _role_name(session: Context, number: Any) -> EngineValue:
    return session.role_name(number)  # type: ignore[no-any-return]


@function("mut_excl_roles", "string", "string", returns=INT, optional=1)
def _mut_excl_roles(_role: Any, _level: Any = None) -> EngineValue:
    return 0


@function("role_contain", "string", "string", returns=INT)
def _role_contain(_first: Any, _second: Any) -> EngineValue:
    return 0


@function("instance_id", "string", returns=TINYINT, optional=1, session=True)
def _instance_id(session: Context, _name: Any = None) -> EngineValue:
    return 1 if session.profile.cluster else 0


@function("instance_name", "int", returns=NAME, optional=1, session=True)
def _instance_name(session: Context, _number: Any = None) -> EngineValue:
    return str(session.server.name)


@function("pagesize", "any", "any", "any", returns=INT, optional=2)
def _pagesize(_object: Any, _index: Any = None, _more: Any = None) -> EngineValue:
    return 4096


@function("lockscheme", "any", "any", returns=varchar(11), optional=1)
def _lockscheme(_object: Any, _database: Any = None) -> EngineValue:
    return "allpages"


@function("switchprop", "any", returns=LONG_NAME)
def _switchprop(_name: Any) -> EngineValue:
    return None


@function("license_enabled", "string", returns=INT)
def _license_enabled(_name: Any) -> EngineValue:
    return 1


@function("valid_name", "string", "int", returns=INT, optional=1)
def _valid_name(name: Any, _length: Any = None) -> EngineValue:
    return int(bool(name) and (name[0].isalpha() or name[0] in "_#"))


@function("valid_user", "int", returns=INT, session=True)
def _valid_user(session: Context, number: Any) -> EngineValue:
    return int(session.login_name(number) is not None)


@function("tempdb_id", "int", returns=INT, optional=1)
def _tempdb_id(_spid: Any = None) -> EngineValue:
    return 2


@function("spid_instance_id", "int", returns=TINYINT)
def _spid_instance_id(_spid: Any) -> EngineValue:
    return 0


@function("newid", "int", returns=varchar(36), optional=1, pure=False)
def _newid(style: Any = 0) -> EngineValue:
    return str(uuid.uuid4()) if style else uuid.uuid4().hex


@function("get_appcontext", "string", "string", returns=LONG_NAME)
def _get_appcontext(_context: Any, _attribute: Any) -> EngineValue:
    return None


@function("sdc_intempdbconfig", returns=INT)
def _sdc_intempdbconfig() -> EngineValue:
    return 0


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
def _curunreservedpgs(session: Context, database: Any, start: Any, _unreserved: Any) -> EngineValue:
    return session.free_pages(database, start)  # type: ignore[no-any-return]


def _pages_function(name: str) -> None:
    @function(name, "int", "int", "int", "int", returns=INT, optional=2, session=True)
    def run(
        session: Context, database: Any, number: Any, index: Any = None, _part: Any = None
    ) -> EngineValue:
        return session.pages_of(database, number, index)  # type: ignore[no-any-return]


for _name in ("reserved_pages", "data_pages", "used_pages"):
    _pages_function(_name)


@function("lct_admin", "string", "int", "int", "int", returns=INT, optional=2, session=True)
def _lct_admin(
    session: Context, action: Any, database: Any, _third: Any = 0, _fourth: Any = 0
) -> EngineValue:
    return session.log_pages(action, database)  # type: ignore[no-any-return]
