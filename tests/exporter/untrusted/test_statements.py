"""Statements and names of programs and logins: no value in them is shown, whatever its form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.untrusted.redaction import remember
from ase_exporter.untrusted.statements import (
    MAX_PROGRAM,
    MAX_STATEMENT,
    login_name,
    program_name,
    without_literals,
)

SECRET = "planted7secret"


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("select * from t where a = 'x' and b=12.5e3", "select * from t where a = ? and b=?"),
        ("update t2 set c = c + 1 where id in (1, 2,3)", "update t2 set c = c + ? where id in (?, ?,?)"),
        (
            "select 'it''s' + \"two\" -- comment 'x'\n from t /* 42 */ where d = 0xff",
            "select ? + ? from t where d = ?",
        ),
        ("exec p @a = 'cut of", "exec p @a = ?"),
        ("select v1, col_2 from #temp3 where @v4 = .5", "select v1, col_2 from #temp3 where @v4 = ?"),
        ("set \x1b[31m red", "set \\x1b[?m red"),
        ("alter login a modify password immediately abc", "alter login a modify password ..."),
        ("create login l with password Pw_x", "create login l with password ..."),
        ("exec my_proc UNQUOTED", "exec my_proc ?"),
        (
            "exec @rc = db..my_proc;2 One, @p = Two, @q output",
            "exec @rc = db..my_proc;? ?, @p = ?, @q output",
        ),
        ("execute p Word select Name from t", "execute p ? select Name from t"),
        ("my_proc UNQUOTED, other", "my_proc ?, ?"),
        ("if 1 = 1 exec p a, null with recompile", "if ? = ? exec p ?, null with recompile"),
    ],
)
def test_literals_and_comments_are_left_out(sql: str, shown: str) -> None:
    assert without_literals(sql) == shown


@pytest.mark.parametrize(
    "sql",
    [
        f"exec sp_password '{SECRET}', '{SECRET}'",
        f"exec sp_password {SECRET}, x",
        f"exec sp_addexternlogin REMOTE, sa, sa, {SECRET}",
        f"select 1 /* {SECRET}",
        f"select '{SECRET}",
        f"set encryption passwd {SECRET} for key k",
        f"create login x with password {SECRET}",
    ],
)
def test_a_planted_secret_is_in_no_statement(sql: str) -> None:
    assert SECRET not in without_literals(sql)


_WORDS = st.sampled_from(["select", "t1", "@v", "#temp", "=", "(", ",", "\n", "where", "-", "/", "*"])
_VALUES = st.text(alphabet="XYZ'\"-/*\n ", max_size=12)
_LITERALS = _VALUES.flatmap(
    lambda value: st.sampled_from(
        [
            "'" + value.replace("'", "''") + "'",
            '"' + value.replace('"', '""') + '"',
            "/*" + value.replace("*/", "") + "Z*/",
            "--" + value.replace("\n", "") + "\n",
        ]
    )
)


@given(st.lists(_WORDS | _LITERALS, max_size=12))
def test_no_value_of_a_generated_statement_is_shown(parts: list[str]) -> None:
    shown = without_literals(" ".join(parts))
    assert not {"X", "Y", "Z"} & {*shown}


def test_a_statement_is_one_line_of_bounded_length() -> None:
    shown = without_literals("select a from b\nwhere " + "c = 1 or " * 10_000)
    assert len(shown) <= MAX_STATEMENT + 4 and "\n" not in shown and shown.endswith("...")


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("isql", "isql"),
        ("jConnect (TM) for JDBC", "jConnect (TM) for JDBC"),
        ("web shop 4.2", "web shop 4.2"),
        (f"app password={SECRET}", "app ..."),
        (f"isql -Usa -P{SECRET}", "isql -Usa..."),
        (f"app --pwd {SECRET}", "app..."),
        (f"load:{SECRET}", "load..."),
        (f"sa/{SECRET}@PROD", "..."),
        ("a1b2c3d4e5f6a7b8c9d0", "..."),
        (f"{SECRET}token", "..."),
        ("two\nlines", "two\\nlines"),
    ],
)
def test_programs_are_shown_without_their_arguments(program: str, shown: str) -> None:
    assert program_name(program) == shown
    assert len(shown) <= MAX_PROGRAM


@pytest.mark.parametrize(
    ("login", "shown"),
    [
        ("sa", "sa"),
        ("svc_payroll_batch_0815_a", "svc_payroll_batch_0815_a"),
        ("shop/app01@EXAMPLE.COM", "shop/app01@EXAMPLE.COM"),
        ("DOMAIN\\clerk", "DOMAIN\\clerk"),
        (f"sa:{SECRET}", "sa:..."),
        (f"user=sa;pwd={SECRET}", "user=..."),
        (f"password{SECRET}", "password..."),
        ("two\nlines", "two\\nlines"),
    ],
)
def test_logins_are_shown_without_what_was_typed_into_them(login: str, shown: str) -> None:
    assert login_name(login) == shown and (login == shown or program_name(login) != login)


@pytest.mark.parametrize("name", ["remembered", "rememberee", "REMEMBERED"])
def test_a_name_does_not_tell_whether_it_is_a_password(name: str) -> None:
    remember("remembered")
    assert login_name(name) == program_name(name) == name
