"""deploy/sql/create_login.sql works unchanged on every version; the password of its login does not expire."""

import time

import pytest
from tests.exporter.simulated import PASSWORD
from tests.exporter.simulated import run as simulated
from tests.paths import DEPLOY
from tests.real.ase import batches
from tests.versions import VERSIONS

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint

SET_TO = "select u.value from master..sysconfigures c, master..syscurconfigs u where c.config = u.config"


BATCHES = batches(DEPLOY / "sql" / "create_login.sql", {"CHANGE_ME": PASSWORD})
# An administrator may have withdrawn what the script needs for a batch: as with isql, the next batch runs all the same.
UNKNOWN_PROCEDURE = 2812


def attributes(connection: Connection, login: str) -> dict[str, str]:
    """What sp_displaylogin prints about a login."""
    lines = connection.query_messages(f"exec sp_displaylogin '{login}'", time.monotonic() + 60)
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_scripts_work_on_every_version_and_the_password_never_expires(version: str) -> None:
    with simulated(version) as server:
        endpoint = Endpoint(*server.address)
        connection = Connection.open(endpoint, "sa", PASSWORD, deadline=time.monotonic() + 60)
        connection.query("exec sp_configure 'systemwide password expiration', 90", time.monotonic() + 60)
        # Versions that lack an option are not told of it.
        for batch in [*BATCHES, *batches(DEPLOY / "sql" / "enable_monitoring.sql")]:
            connection.query(batch, time.monotonic() + 60)
        assert attributes(connection, "ase_exporter")["Password expiration interval"] == "0"
        assert attributes(connection, "monitor")["Password expiration interval"] == "90"
        connection.close()
        with server.login("ase_exporter") as query:
            assert query("select proc_role('mon_role')")[0][0]
            assert query("select count(*) from master..monState")
            assert query(f"{SET_TO} and c.name = 'enable monitoring'")[0][0] == 1
            assert query(f"{SET_TO} and c.name = 'errorlog pipe max messages'")[0][0] == 200


def test_a_server_that_does_not_allow_it_still_gets_the_login() -> None:
    allowed = [batch.replace("sp_modifylogin", "sp_no_such_procedure") for batch in BATCHES]
    assert allowed != BATCHES
    failures = []
    with simulated("16.0 SP04") as server:
        with server.login("sa") as query:
            for batch in allowed:
                try:
                    query(batch)
                except DatabaseError as error:
                    failures.append(error.number)
        assert failures == [UNKNOWN_PROCEDURE]
        with server.login("ase_exporter") as query:
            assert query("select count(*) from master..monState")
