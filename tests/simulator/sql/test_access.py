"""Who may open a database or read a table: users, guests, states of databases, roles, permissions, resource limits."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.model.database_states import DATABASE_STATES
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login

# What a login and sa are told by the state of a database that the login is a user of.
REFUSED = {
    "loading": (937, 937),
    "recovering": (921, 921),
    "suspect": (926, 926),
    "dbo use only": (923, 0),
    "single user": (924, 924),
    "offline": (950, 950),
    "not recovered": (921, 921),
    "upgrading": (921, 921),
    "shutting down": (950, 950),
    "shut down": (950, 950),
    "being dropped": (950, 950),
    "archive": (950, 950),
}


def connected(**row: object) -> tuple[FakeServer, Client, Client]:
    """A server with the database payroll, a login with mon_role, and sa."""
    server = FakeServer("15.7 SP138 CE", sysdatabases=[{"name": "payroll", "dbid": 4, **row}], monState=[{}])
    logins = [Login("sa", "", roles=list(FULL)), Login("monitor", "x", roles=["mon_role"])]
    backend = SqlBackend(server, logins)
    return server, Client(server, "monitor", "x", backend), Client(server, "sa", "", backend)


def entered(client: Client) -> int:
    """The error of using payroll, in each way, or 0."""
    found = [
        client.errors("use payroll") or [0],
        client.errors("select * from payroll..sysobjects") or [0],
        client.errors("exec payroll..sp_spaceused") or [0],
    ]
    client.errors("use master")
    ((number,), *others) = found
    assert others == [[number]] * 2
    return number


def test_a_login_enters_databases_that_it_or_guest_is_a_user_of() -> None:
    server, monitor, sa = connected()
    assert (entered(monitor), entered(sa)) == (916, 0)
    assert monitor.errors("exec payroll..sp_adduser monitor") == [916]
    for user in ("monitor", "guest"):
        assert sa.errors(f"exec payroll..sp_adduser {user}") == []
        assert entered(monitor) == 0
        assert (user,) in monitor.rows("select name from payroll..sysusers")
        server.tables["simGuests"] = []
        sa.backend.shared.users.clear()
        assert entered(monitor) == 916
    server.tables["simGuests"] = [{"name": "payroll"}]
    assert entered(monitor) == 0
    assert monitor.errors("use tempdb use sybsystemprocs use master") == []


@pytest.mark.parametrize("state", DATABASE_STATES)
def test_a_database_refuses_by_its_state(state: str) -> None:
    status = dict(zip(("status", "status2", "status3"), DATABASE_STATES[state], strict=True))
    server, monitor, sa = connected(**status)
    server.tables["simGuests"] = [{"name": "payroll"}]
    assert (entered(monitor), entered(sa)) == REFUSED.get(state, (0, 0))


def test_a_database_for_one_user_refuses_others_while_somebody_is_in_it() -> None:
    server, monitor, sa = connected()
    server.tables["simGuests"] = [{"name": "payroll"}]
    assert sa.errors("exec sp_dboption payroll, 'single user', true") == []
    assert monitor.errors("use payroll") == []
    assert sa.errors("use payroll") == [924]


def test_a_local_temporary_database_is_opened_on_its_own_instance_alone() -> None:
    _, monitor, sa = connected(instanceid=2)
    assert (entered(monitor), entered(sa)) == (969, 969)


def test_a_granted_role_may_be_inactive_until_it_is_set() -> None:
    _, monitor, sa = connected()
    read, role = "select 1 from master..monState", "select proc_role('mon_role')"
    assert sa.errors("exec sp_modifylogin monitor, 'drop default role', mon_role") == []
    assert monitor.rows(role) == [(0,)] and monitor.errors(read) == [10353]
    assert monitor.errors("set role mon_role on") == [] and monitor.errors(read) == []
    assert monitor.errors("set role mon_role off") == [] and monitor.errors(read) == [10353]
    assert sa.errors("exec sp_modifylogin monitor, 'add default role', mon_role") == []
    monitor.session.set_roles.clear()
    assert monitor.rows(role) == [(1,)]
    assert monitor.errors("set role sa_role on") == [10353]


def test_tables_of_a_script_that_was_not_run_are_missing() -> None:
    server, monitor, _ = connected()
    listed = "select 1 from master..sysobjects where name = 'monState'"
    assert monitor.rows(listed) == [(1,)]
    server.faults.missing_tables = frozenset({"monState"})
    assert monitor.errors("select * from master..monState") == [208] and monitor.rows(listed) == []


def test_a_resource_limit_ends_the_batch() -> None:
    server, monitor, _ = connected()
    server.faults.slow_tables, server.faults.elapsed_limit = {"monState": 0.01}, 0.001
    assert monitor.errors("select 1 from master..monState select * from nosuch") == [11056]
