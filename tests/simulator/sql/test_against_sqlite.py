"""Generated sequences of statements on client tables: rows, and numbers of errors, as plain SQLite has them."""

import os
import re
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulator.sql.fake import Client, FakeServer

# The number of sequences that a run by hand draws at random.
_SEQUENCES = os.environ.get("ASE_SIMULATOR_SEQUENCES")
_KEY = st.integers(1, 6)
_VALUE = st.one_of(st.none(), st.integers(-3, 9))
_WHERE = st.one_of(
    st.just(""),
    st.builds("where a = {}".format, _KEY),
    st.builds("where b > {}".format, st.integers(-3, 9)),
    st.just("where b is null"),
    st.builds("where a in ({}, {}) or c = 'x'".format, _KEY, _KEY),
)


def _shown(value: int | None) -> str:
    return "null" if value is None else str(value)


_STATEMENTS = st.one_of(
    st.builds(lambda a, b: f"insert into t (a, b, c) values ({a}, {_shown(b)}, 'x')", _KEY, _VALUE),
    st.builds(lambda a: f"insert into t (a, c) values ({a}, 'd')", st.one_of(_KEY, st.just("null"))),
    st.just("insert into t (b) values (1)"),
    st.builds("update t set a = null {}".format, _WHERE),
    st.builds(lambda n, where: f"insert into t (a, b, c) select a + {n}, b, c from t {where}", _KEY, _WHERE),
    st.builds(lambda b, where: f"update t set b = {_shown(b)} {where}", _VALUE, _WHERE),
    st.builds(lambda n, where: f"update t set a = a + {n}, c = 'y' {where}", st.integers(0, 2), _WHERE),
    st.builds(lambda where: f"delete from t {where}", _WHERE),
    st.builds(
        lambda f, where: f"update t set b = (select {f}(b) from t) {where}",
        st.sampled_from(["min", "max"]),
        _WHERE,
    ),
    st.just("delete from t where exists (select 1 from t u where u.b = t.a)"),
    st.sampled_from(["begin transaction", "commit", "rollback"]),
)
_QUERIES = (
    "select count(*), count(b), sum(b), min(c), max(a) from t",
    "select b, count(*) from t group by b having count(*) > 1 order by b",
    "select x.a, y.a from t x, t y where x.b = y.a order by x.a, y.a",
    "select x.a, y.b from t x left join t y on y.a = x.b order by x.a",
    "select a from t where b not in (select a from t) union select b from t where b > 2 order by 1",
    "select distinct c, case when b is null then 0 else b / 2 end from t order by 1, 2",
)


class Plain:
    """SQLite, with one transaction at most."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.execute("create table t (a integer not null, b integer, c text not null)")

    def run(self, sql: str) -> list[int]:
        """The number of the error that ASE has for a statement that SQLite refuses: NULL in `a` or `c`."""
        try:
            self._db.execute(sql)
        except sqlite3.IntegrityError:
            return [515 if "null" in sql else 233]
        return []

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return self._db.execute(sql).fetchall()


_TABLES = st.sampled_from(["t", "#t", "tempdb..t"])


@pytest.mark.timeout(3600)
@settings(max_examples=int(_SEQUENCES or 50), derandomize=not _SEQUENCES)
@given(_TABLES, st.lists(_STATEMENTS, max_size=25), st.sampled_from(_QUERIES))
def test_client_tables_behave_as_sqlite_does(table: str, statements: list[str], query: str) -> None:
    plain, client, open_ = Plain(), Client(FakeServer()), False
    try:
        created = f"create table {table} (a int not null, b int null, c varchar(9) not null)"
        assert client.errors(created) == []
        for statement in statements:
            if statement in ("begin transaction", "commit", "rollback"):
                if open_ == (statement == "begin transaction"):
                    continue
                open_ = not open_
            assert client.errors(re.sub(r"\bt\b", table, statement)) == plain.run(statement), statement
            rows = "select * from t order by a, b, c"
            assert client.rows(re.sub(r"\bt\b", table, rows)) == plain.rows(rows), statement
        assert client.rows(re.sub(r"\bt\b", table, query)) == plain.rows(query), query
    finally:
        client.session.close()
