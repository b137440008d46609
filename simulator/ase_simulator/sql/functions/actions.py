"""What system procedures cannot do in T-SQL: simulate('action', …) changes the model, logins and options of databases.

Only the server's own procedures may call it. An action raises SqlError or ServerError, or returns a text.
"""

import re
from collections.abc import Callable
from typing import Any

from ase_simulator.contracts import CacheChange, ServerError
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function
from ase_simulator.sql.logins import ROLES, Login
from ase_simulator.sql.types.rules import varchar
from ase_simulator.sql.types.values import EngineValue

_ACTIONS: dict[str, Callable[..., EngineValue]] = {}
_SHORTEST_PASSWORD = 6
_UNITS_KB = {"p": 2, "k": 1, "m": 1024, "g": 1024 * 1024}
_CACHE_TYPES = ("mixed", "logonly", "inmemory_storage", "row_storage", "lockless", "lockless_data_cache")


@function("simulate", "string", "any", returns=varchar(255), optional=1, more=True, session=True)
def _simulate(session: Context, name: str, *values: Any) -> EngineValue:
    if not session.frame.system:
        raise SqlError(14216, "simulate")
    return _ACTIONS[name](session, *values)


def _action(run: Callable[..., EngineValue]) -> Callable[..., EngineValue]:
    _ACTIONS[run.__name__.removeprefix("_")] = run
    return run


# -- logins -----------------------------------------------------------------------------------------------


def _known(session: Context, name: str | None) -> Login:
    """The login of that name; raises SqlError 17231."""
    found = session.shared.logins.find(name or "")
    if found is None:
        raise SqlError(17231)
    return found


def _check_password(password: str | None) -> None:
    if len(password or "") < _SHORTEST_PASSWORD:
        raise SqlError(10317, _SHORTEST_PASSWORD)


@_action
def _add_login(
    session: Context, name: str, password: str | None, database: str | None, full_name: str | None
) -> None:
    if session.shared.logins.find(name) is not None:
        raise SqlError(17262)
    _check_password(password)
    if database is not None and database not in session.names.databases():
        raise SqlError(911, database)
    login = Login(name, password or "", database=database or "master", full_name=full_name or "")
    session.shared.logins.add(login)


@_action
def _lock_login(session: Context, name: str, kind: str | None) -> None:
    if kind not in ("lock", "unlock"):
        raise SqlError(17870, kind or "")
    _known(session, name).locked = kind == "lock"


@_action
def _set_password(session: Context, own: str | None, new: str | None, name: str | None) -> None:
    login = session.login if name is None else _known(session, name)
    if login is not session.login and "sso_role" not in session.roles:
        raise SqlError(10353, "sso_role")
    _check_password(new)
    if (own or "") != session.login.password:
        raise SqlError(10315)
    login.password = new or ""


@_action
def _modify_login(session: Context, name: str, option: str, value: str | None) -> None:
    login = _known(session, name)
    if option == "passwd expiration" and value and value.isdigit():
        login.password_expiration = int(value)
    elif option in ("add default role", "drop default role") and value in ROLES:
        (login.inactive.add if option.startswith("drop") else login.inactive.discard)(value)
    elif option == "defdb" and value in session.names.databases():
        login.database = str(value)
    elif option == "fullname":
        login.full_name = value or ""
    else:
        raise SqlError(17870, option)


@_action
def _change_user(session: Context, action: str, name: str) -> None:
    users = session.shared.users.setdefault(session.database, set())
    if name != "guest":
        _known(session, name)
    if (action == "add") == (name in users):
        raise SqlError(17330)
    (users.add if action == "add" else users.discard)(name)


@_action
def _password_expiration(session: Context, name: str) -> str:
    """Days until a login's password expires, 0 for never: the login's own, or else the server's."""
    days = _known(session, name).password_expiration
    return str(session.server.run_value("systemwide password expiration") if days is None else days)


# -- configuration and caches -----------------------------------------------------------------------------


def _number(text: str) -> int:
    if not text.lstrip("-").isdigit():
        raise SqlError(249, "implicit", "VARCHAR", text, "INT")
    return int(text)


@_action
def _set_option(session: Context, name: str, value: str, text: str | None) -> None:
    option = next(option for option in session.server.options() if option.name == name)
    if value.lower() == "default":
        new: int | str = option.default
    else:
        new = text if option.unit == "name" and text is not None else _number(value)
    after = session.server.set_option(name, new, session.login.name)
    old, now = (each.text or str(each.configured) for each in (option, after))
    mode = "static" if option.static else "dynamic"
    session.record_change("sp_configure", session.server.name, name, old, now, mode)


@_action
def _max_used(session: Context, name: str, active: int) -> str:
    """The most that sp_monitorconfig has seen in use."""
    used = session.shared.max_used
    used[name] = max(active, used.get(name, 0))
    return str(used[name])


@_action
def _kilobytes(session: Context, text: str | None) -> str | None:
    """`512K`, `2G`, `100M`, `300` (KB) as KB; None if it is not a size."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([pkmg]?)b?", (text or "").strip().lower())
    return str(int(float(found[1]) * _UNITS_KB[found[2] or "k"])) if found else None


@_action
def _configure_cache(session: Context, name: str, *parameters: str | None) -> str:
    """Whether the change was dynamic or static."""
    settings: CacheChange = {}
    for word in filter(None, parameters):
        lowered = word.strip().lower()
        if partition := re.fullmatch(r"cache_partitions?\s*=\s*(\w+)", lowered):
            settings["partitions"] = 1 if partition[1] == "default" else _number(partition[1])
        elif lowered in ("strict", "relaxed"):
            settings["strategy"] = lowered
        elif lowered in _CACHE_TYPES:
            settings["type"] = lowered
        elif (size := _kilobytes(session, word)) is not None:
            settings["size_kb"] = int(str(size))
        elif not lowered.startswith("instance "):
            raise ServerError(18133, f"Unknown option '{word}' specified for cache '{name}'.")
    session.server.configure_cache(name, **settings)
    for key, value in settings.items():
        session.record_change("sp_cacheconfig", name, key, None, str(value), "")
    return "dynamic" if settings.keys() <= {"size_kb"} else "static"


@_action
def _configure_pool(session: Context, name: str, buffers: int, size: int) -> None:
    session.server.configure_pool(name, buffers, size)
    session.record_change("sp_poolconfig", name, f"{buffers}K pool", None, f"{size}K", "dynamic")


@_action
def _bind_cache(session: Context, cache: str | None, database: str, name: str | None) -> None:
    """cache: None to unbind."""
    table = name.split(".")[-1] if name else None
    session.server.bind_cache(cache, database, table)
    if cache is not None:
        session.record_change("sp_bindcache", cache, table or database, None, "bound", "dynamic")


@_action
def _set_engine(session: Context, number: int, command: str) -> None:
    session.server.set_engine(number, command == "online")
    session.record_change("sp_engine", session.server.name, f"engine {number}", None, command, "dynamic")


@_action
def _set_database_option(session: Context, database: str, option: str, bit: int, value: str) -> None:
    options = session.shared.database_options
    on, off = options.get(database, (0, 0))
    options[database] = (on | bit, off & ~bit) if value == "true" else (on & ~bit, off | bit)
    session.record_change("sp_dboption", database, option, None, value, "dynamic")
