"""Logins of a simulated server: passwords, roles, locks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ase_simulator.sql.errors import SqlError

ROLES: dict[str, int] = {
    "sa_role": 0, "sso_role": 1, "oper_role": 2, "sybase_ts_role": 3, "navigator_role": 4,
    "replication_role": 6, "dtm_tm_role": 8, "ha_role": 9, "mon_role": 10, "js_admin_role": 12,
    "messaging_role": 13, "js_client_role": 14, "js_user_role": 15, "webservices_role": 16,
    "keycustodian_role": 17,
}  # fmt: skip
FULL = ("sa_role", "sso_role", "oper_role", "sybase_ts_role", "mon_role")


_LAST_RESERVED = 2


@dataclass(slots=True)
class Login:
    """One login.

    roles: granted ones; inactive: those of them that are off at login. failures: consecutive failed logins.
    password_expiration: days, None for the server's.
    """

    name: str
    password: str
    suid: int = 0
    roles: list[str] = field(default_factory=list)
    locked: bool = False
    database: str = "master"
    language: str = "us_english"
    full_name: str = ""
    failures: int = 0
    password_expiration: int | None = None
    inactive: set[str] = field(default_factory=set)

    @property
    def active_roles(self) -> list[str]:
        return [role for role in ROLES if role in self.roles]


class Logins:
    """All logins of one server, by name (case counts)."""

    def __init__(self, logins: Iterable[Login], known: dict[str, int]) -> None:
        """known: server user ids of the workload's logins, by name."""
        self._known = known
        self._by_name: dict[str, Login] = {}
        for login in logins:
            self.add(login)

    def __iter__(self) -> Iterator[Login]:
        return iter(sorted(self._by_name.values(), key=lambda login: login.suid))

    def find(self, name: str) -> Login | None:
        return self._by_name.get(name)

    def name_of(self, suid: int) -> str | None:
        """The name of a server user id, the workload's logins included."""
        numbers = self._known | {login.name: login.suid for login in self._by_name.values()}
        return next((name for name, number in numbers.items() if number == suid), None)

    def number_of(self, name: str) -> int | None:
        """The server user id of a login, the workload's included."""
        found = self._by_name.get(name)
        return found.suid if found else self._known.get(name)

    def add(self, login: Login) -> None:
        """Adds a login; it gets the next number unless it is sa."""
        if not login.suid:
            used = [other.suid for other in self._by_name.values()]
            taken = max([_LAST_RESERVED, *used, *self._known.values()])
            login.suid = 1 if login.name == "sa" else self._known.get(login.name, taken + 1)
        self._by_name[login.name] = login


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


def standard_logins() -> list[Login]:
    """sa with every role, and the login that monitoring uses: mon_role alone."""
    return [Login("sa", "", roles=list(FULL)), Login("ase_exporter", "exporter", roles=["mon_role"])]
