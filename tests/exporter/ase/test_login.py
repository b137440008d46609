"""Login: what a server says about a refused login."""

import pytest

from ase_exporter.ase.connection import Connection, Endpoint
from ase_exporter.ase.database_error import DatabaseError, Kind
from ase_exporter.ase.login import Login, Permission
from ase_exporter.config import Auth


@pytest.mark.parametrize("kind", ["login_failed", "unreachable"])
def test_a_server_that_repeats_the_password_does_not_get_it_into_our_log(kind: Kind) -> None:
    def refuse(*_: object, permit: Permission, **__: object) -> Connection:
        permit(())
        raise DatabaseError(kind, "login failed for monitor with pa(ss word", 4002)

    auth = Auth(user="monitor", password="pa(ss word")
    login = Login(Endpoint("ase1", 5000), auth, refuse)
    with pytest.raises(DatabaseError) as caught:
        login.open(1e9)
    assert str(caught.value) == "Msg 4002: login failed for monitor with <password>"
    assert (caught.value.kind, caught.value.number) == (kind, 4002)
    assert caught.value.__cause__ is None
