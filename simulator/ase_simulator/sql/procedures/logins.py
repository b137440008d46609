"""Logins and roles: sp_addlogin, sp_locklogin, sp_role, sp_displaylogin, sp_activeroles and others."""

from collections.abc import Iterator

from ase_simulator.results import Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.logins import ROLES, Login
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table

_SSO = ("sso_role",)
_SHORTEST = 6


def _login(call: ProcedureCall, parameter: str = "@loginame") -> Login:
    """The login that a parameter names; raises SqlError 17231."""
    found = call.session.shared.logins.find(call.text(parameter) or "")
    if found is None:
        raise SqlError(17231)
    return found


@procedure(
    "sp_addlogin",
    "@loginame varchar(30)",
    "@passwd varchar(128)",
    "@defdb varchar(30) = null",
    "@deflanguage varchar(30) = null",
    "@fullname varchar(30) = null",
    "@passwdexp int = null",
    "@minpwdlen int = null",
    "@maxfailedlogins int = null",
    "@auth_mech varchar(30) = null",
    roles=_SSO,
)
def sp_addlogin(call: ProcedureCall) -> Iterator[Result]:
    """A new login."""
    add_login(
        call,
        call.text("@loginame") or "",
        str(call.values["@passwd"] or ""),
        call.text("@defdb"),
        call.text("@fullname"),
    )
    yield print_line("Password correctly set.")
    yield print_line("Account unlocked.")
    yield print_line("New login created.")


def add_login(
    call: ProcedureCall, name: str, password: str, database: str | None, full_name: str | None
) -> None:
    """A new login; raises SqlError 10316, 17262 and 911."""
    logins = call.session.shared.logins
    if logins.find(name) is not None:
        raise SqlError(17262)
    if len(password) < _SHORTEST:
        raise SqlError(10317, _SHORTEST)
    if database is not None and database not in call.session.names.databases():
        raise SqlError(911, database)
    logins.add(Login(name, password, database=database or "master", full_name=full_name or ""))


@procedure("sp_droplogin", "@loginame varchar(30)", roles=_SSO)
def sp_droplogin(call: ProcedureCall) -> Iterator[Result]:
    """Drops a login."""
    call.session.shared.logins.drop(_login(call).name)
    yield print_line("Login dropped.")


@procedure(
    "sp_locklogin",
    "@loginame varchar(30) = null",
    "@locktype varchar(10) = null",
    "@except varchar(30) = null",
    "@inactive int = null",
    roles=_SSO,
)
def sp_locklogin(call: ProcedureCall) -> Iterator[Result]:
    """Locks or unlocks a login, or lists the locked ones."""
    if call.text("@loginame") is None:
        yield table(
            "[locked_logins] varchar(30)",
            [(login.name,) for login in call.session.shared.logins if login.locked],
        )
        return
    kind = (call.text("@locktype") or "").lower()
    if kind not in ("lock", "unlock"):
        raise SqlError(17870, kind)
    login = _login(call)
    login.locked = kind == "lock"
    yield print_line("Account locked." if login.locked else "Account unlocked.")


@procedure(
    "sp_password",
    "@caller_password varchar(128)",
    "@new_password varchar(128)",
    "@loginame varchar(30) = null",
)
def sp_password(call: ProcedureCall) -> Iterator[Result]:
    """A new password."""
    login = call.session.login if call.text("@loginame") is None else _login(call)
    if login is not call.session.login and "sso_role" not in call.session.roles:
        raise SqlError(10353, "sso_role")
    new = str(call.values["@new_password"] or "")
    if len(new) < _SHORTEST:
        raise SqlError(10317, _SHORTEST)
    if str(call.values["@caller_password"] or "") != call.session.login.password:
        raise SqlError(10315)
    login.password = new
    yield print_line("Password correctly set.")


@procedure(
    "sp_role",
    "@action varchar(10)",
    "@rolename varchar(30)",
    "@grantee varchar(30)",
    roles=("sso_role", "sa_role"),
)
def sp_role(call: ProcedureCall) -> Iterator[Result]:
    """Grants a role to a login or takes it away."""
    action = (call.text("@action") or "").lower()
    if action not in ("grant", "revoke"):
        raise SqlError(17870, action)
    change_role(
        call.session.shared.logins.find(call.text("@grantee") or ""),
        action == "grant",
        call.text("@rolename") or "",
    )
    yield print_line("Authorization updated.")


def change_role(login: Login | None, grant: bool, role: str) -> None:
    """Grants or revokes; raises SqlError 11039 and 17231. Takes effect in running sessions at once."""
    if role not in ROLES:
        raise SqlError(11039, role)
    if login is None:
        raise SqlError(17231)
    if grant and role not in login.roles:
        login.roles.append(role)
    if not grant and role in login.roles:
        login.roles.remove(role)


@procedure(
    "sp_modifylogin",
    "@loginame varchar(30)",
    "@option varchar(30)",
    "@value varchar(255)",
    roles=_SSO,
)
def sp_modifylogin(call: ProcedureCall) -> Iterator[Result]:
    """Changes an attribute of a login. The value is text: numbers need quotes."""
    login, value = _login(call), call.values["@value"]
    option = (call.text("@option") or "").lower()
    if option == "passwd expiration" and isinstance(value, str) and value.isdigit():
        login.password_expiration = int(value)
    elif option == "defdb" and value in call.session.names.databases():
        login.database = str(value)
    elif option == "fullname":
        login.full_name = str(value)
    else:
        raise SqlError(17870, option)
    yield print_line("Option changed.")


def _password_expiration(call: ProcedureCall, login: Login) -> int:
    """Days until a password expires, 0 for never: the login's, or else the server's."""
    if login.password_expiration is not None:
        return login.password_expiration
    return sum(
        option.run for option in call.server.options() if option.name == "systemwide password expiration"
    )


@procedure("sp_displaylogin", "@loginame varchar(30) = null", "@expand_up varchar(20) = null")
def sp_displaylogin(call: ProcedureCall) -> Iterator[Result]:
    """Shows a login's attributes."""
    login = call.session.login if call.text("@loginame") is None else _login(call)
    if login is not call.session.login and not {"sa_role", "sso_role"} & set(call.session.roles):
        raise SqlError(10353, "sso_role")
    yield print_line(f"Suid: {login.suid}")
    yield print_line(f"Loginame: {login.name}")
    yield print_line(f"Fullname: {login.full_name}")
    yield print_line(f"Default Database: {login.database}")
    yield print_line(f"Default Language: {login.language}")
    yield print_line("Auto Login Script: ")
    yield print_line("Configured Authorization:")
    for role in (role for role in ROLES if role in login.roles):
        yield print_line(f"    {role} (default ON)")
    yield print_line(f"Locked: {'YES' if login.locked else 'NO'}")
    yield print_line(f"Password expiration interval: {_password_expiration(call, login)}")
    yield print_line("Password expired: NO")
    yield print_line("Minimum password length: 6")
    yield print_line("Maximum failed logins: 0")
    yield print_line(f"Current failed login attempts: {login.failures}")
    yield print_line("Authenticate with: ANY")
