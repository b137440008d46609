"""Functions about the server, its databases, objects, logins and roles."""

from typing import Any

from ase_simulator.results import Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.functions.registry import function
from ase_simulator.sql.lookup.server_facts import cached_text
from ase_simulator.sql.lookup.space import database_pages, object_pages
from ase_simulator.sql.types.rules import INT, varchar
from ase_simulator.sql.types.values import EngineValue

NAME = varchar(30)
LONG_NAME = varchar(255)


@function("mdaconfig", "string", "string", returns=INT, session=True)
def _mdaconfig(session: Context, option: Any, action: Any) -> EngineValue:
    if str(option).lower() != "freeze":
        raise SqlError(102, option)
    session.freeze(str(action).lower())
    return 0


@function("show_cached_plan_in_xml", "int", "int", "int", returns=Type("text"), optional=1, session=True)
def _show_cached_plan_in_xml(session: Context, number: Any, plan: Any, _detail: Any = 0) -> EngineValue:
    """The statement without the steps of its plan."""
    text = cached_text(session.names.snapshot, number)
    if text is None:
        return None
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<query version="1.0">\n <planVersion>1.0</planVersion>\n'
        f" <statementId>{number}</statementId>\n <text><![CDATA[SQL Text: {text}]]></text>\n"
        f" <plan>\n  <planId>{plan}</planId>\n </plan>\n</query>"
    )


@function("syb_quit", returns=INT, pure=False, session=True)
def _syb_quit(session: Context) -> EngineValue:
    session.shared.sessions[session.spid].kill()
    raise SqlError(6002)


@function("isnumeric", "any", returns=INT)
def _isnumeric(value: Any) -> EngineValue:
    try:
        float(value)
    except (TypeError, ValueError):
        return 0
    return 1


@function("spaceusage", "int", "int", "int", "int", returns=LONG_NAME, optional=4, session=True)
def _spaceusage(
    session: Context, database: Any = None, number: Any = None, index: Any = None, _part: Any = None
) -> EngineValue:
    """Pages of a database, or of one of its tables."""
    if database is None:
        database = session.names.databases().get(session.database)
    if number is None:
        pages = database_pages(session.names.snapshot, database)
        return ", ".join(f"{name} = {value}" for name, value in pages.items())
    used = object_pages(session.names.snapshot, database, number, index)
    return None if used is None else f"reserved pages = {used}, used pages = {used}, data pages = {used}"


@function("pssinfo", "int", "string", returns=LONG_NAME, session=True)
def _pssinfo(session: Context, spid: Any, name: Any) -> EngineValue:
    row = next(iter(session.names.snapshot.rows("sysprocesses", "spid", spid)), None)
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
