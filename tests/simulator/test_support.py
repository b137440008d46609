"""The list of what is done, approximated and refused is the truth."""

from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.support import support

LIST = support()


def test_nothing_is_in_two_lists() -> None:
    for kind in ("procedures", "functions", "dbcc"):
        assert not {*LIST["done"][kind]} & {*LIST["refused"][kind]}
        assert not {*LIST["done"][kind]} & {*LIST["approximated"].get(kind, ())}


REFUSED = [
    *(f"exec {name}" for name in LIST["refused"]["procedures"]),
    *(f"select {name}()" for name in LIST["refused"]["functions"]),
    *(f"dbcc {name}" for name in LIST["refused"]["dbcc"]),
    "create view v as select 1 a",
    "create trigger t on x for insert as select 1",
    "dump database master to 'x'",
    "load database master from 'x'",
    "disk init name = 'x'",
    "setuser 'x'",
    "insert bulk t",
    "readtext t.a 0x00 0 0",
    "select name from sysobjects compute count(name)",
    "alter database master on x = 10",
]


def test_what_is_refused_gets_the_message_for_it() -> None:
    client = Client(FakeServer())
    answers = {sql: client.errors(sql) for sql in REFUSED}
    assert answers == {sql: [LIST["message"]] for sql in REFUSED}


def test_every_procedure_that_is_a_script_parses() -> None:
    from ase_simulator.sql.procedures import SCRIPTED, scripted

    assert all(scripted(name).name == name for name in SCRIPTED)
