"""First queries of a client: variables, monitoring tables, errors."""

from datetime import datetime

import pytest
from tests.simulator.sql.fake import BOOT, Client, FakeServer

from ase_simulator.results import Message, Rows, Type
from ase_simulator.schema.profiles import profiles

SPINLOCKS = [
    {"SpinlockName": "default data cache", "SpinlockSlotID": 1, "Grabs": 10**12, "Spins": 500, "Waits": 10},
    {"SpinlockName": "default data cache", "SpinlockSlotID": 2, "Grabs": 100, "Spins": 50, "Waits": 20},
    {"SpinlockName": "fglockspins", "SpinlockSlotID": 3, "Grabs": 7, "Spins": 0, "Waits": 0},
]


@pytest.fixture
def client() -> Client:
    return Client(
        FakeServer(monSpinlockActivity=SPINLOCKS, monState=[{"StartDate": BOOT, "Transactions": 2**31 + 5}])
    )


def test_server_variables_have_ases_types_and_values(client: Client) -> None:
    result = client.results("select @@version, @@servername, @@spid")[0]
    assert isinstance(result, Rows)
    assert [column.type.name for column in result.columns] == ["varchar", "varchar", "smallint"]
    assert list(result.rows) == [(profiles()["16.0 SP04"].banner, "ASESIM", client.session.spid)]


def test_a_monitoring_table_comes_with_the_types_of_its_definition(client: Client) -> None:
    result = client.results("select * from master..monSpinlockActivity where Waits > 0 order by Waits desc")[
        0
    ]
    assert isinstance(result, Rows)
    assert [(column.name, column.type) for column in result.columns][:3] == [
        ("Grabs", Type("bigint")),
        ("Spins", Type("bigint")),
        ("Waits", Type("bigint")),
    ]
    assert [row[2] for row in result.rows] == [20, 10]


def test_monitoring_tables_need_mon_role() -> None:
    from ase_simulator.sql.backend import SqlBackend
    from ase_simulator.sql.logins import Login

    server = FakeServer(monState=[{}])
    client = Client(server, "guest_login", "x", SqlBackend(server, [Login("guest_login", "x")]))
    rejection = client.results("select * from master..monState")[0]
    assert isinstance(rejection, Message)
    assert (rejection.number, rejection.severity) == (10353, 14)
    assert "'mon_role'" in rejection.text
    assert client.rows("select count(*) from master..monSysLoad") == [(0,)]


@pytest.mark.parametrize(("version", "number"), [("16.0 SP04", 12036), ("15.5", 12052)])
def test_a_switch_that_is_off_gives_an_error_together_with_an_empty_result_set(
    version: str, number: int
) -> None:
    server = FakeServer(version, monEngine=[{"EngineNumber": 0}])
    server.set_option("enable monitoring", 0, "sa")
    rows, notice = Client(server).results("select EngineNumber from master..monEngine")
    assert isinstance(rows, Rows)
    assert list(rows.rows) == []
    assert isinstance(notice, Message)
    assert (notice.number, notice.severity) == (number, 17)
    assert "'monEngine'" in notice.text
    assert "'enable monitoring'" in notice.text


def test_getdate_is_the_servers_clock_in_ticks_of_a_300th_second(client: Client) -> None:
    assert client.value("getdate()") == datetime(2026, 3, 1, 10, 0, 3, 457000)
