"""CREATE FUNCTION: SQL functions of clients in queries."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

_DECODE = """
    create function sp_decode(@ids varbinary(100), @table int = 1)
        returns varchar(100)
    as begin
        declare @text varchar(100), @at int, @name varchar(30)
        set @at = 1
        while @at < datalength(@ids)
        begin
            select top 1 @name = name from #names
                where id = convert(smallint, substring(@ids, @at, 2)) and owner = @table order by name
            if @@rowcount = 0
                set @name = 'none'
            set @text = @text + case @text when NULL then NULL else ', ' end + @name
            set @at = @at + 2
        end
        return @text
    end
"""


@pytest.fixture
def client() -> Client:
    return Client(
        FakeServer(sysprocesses=[{"spid": 1}, {"spid": 2}], sysdatabases=[{"name": "shop", "dbid": 4}])
    )


def test_a_function_reads_the_callers_temporary_tables(client: Client) -> None:
    client.results("use sybsystemprocs")
    client.results(
        "create table #names (id int, name varchar(30), owner int) insert #names values (1, 'a', 1)"
    )
    assert client.errors(_DECODE) == []
    client.results("use master insert #names values (2, 'b', 1)")
    sql = "select dbo.sp_decode(0x00010002), sybsystemprocs.dbo.sp_decode(0x0003, 1), sp_decode(0x0001, 2)"
    assert client.rows(sql) == [("a, b", "none", "none")]


def test_a_function_is_called_for_each_row_and_reads_the_same_table(client: Client) -> None:
    client.results(
        "create function below (@spid int) returns int as begin declare @n int "
        "select @n = count(*) from master..sysprocesses where spid < @spid return @n end"
    )
    sql = "select spid, dbo.below(spid) from master..sysprocesses where dbo.below(spid) >= 0 order by spid"
    assert client.rows(sql) == [(1, 0), (2, 1)]
    assert client.rows("declare @n int select @n = dbo.below(2) + 1 select @n") == [(2,)]


def test_a_function_is_an_object_of_its_database(client: Client) -> None:
    client.results("create function one () returns int as begin return 1 end")
    assert client.rows("select type from sysobjects where id = object_id('one')") == [("SF",)]
    assert client.rows("select dbo.one()") == [(1,)]
    assert client.errors("create function one () returns int as return 2") == [2714]
    assert client.errors("drop procedure one") == [3701]
    assert client.errors("drop function one") == []
    assert client.errors("select dbo.one()") == [14216]


def test_arguments_and_errors_of_functions(client: Client) -> None:
    client.results("create function half (@n int) returns numeric(5,2) as begin return @n / 0 end")
    assert client.errors("select dbo.half()") == [201]
    assert client.errors("select dbo.half(1, 2)") == [8144]
    assert client.errors("select dbo.half(1)") == [3607]
    assert client.rows("select @@nestlevel") == [(0,)]
