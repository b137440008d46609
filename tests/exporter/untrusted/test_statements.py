"""Statements and names of programs and logins: no value in them is shown, whatever its form."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.assets import load_yaml
from ase_exporter.untrusted.redaction import remember
from ase_exporter.untrusted.statements import (
    MAX_PROGRAM,
    MAX_STATEMENT,
    login_name,
    program_name,
    without_literals,
)

SECRET = "planted7secret"
CASES = load_yaml(Path(__file__).with_name("statements.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("sql", "shown"), CASES["statements"])
def test_literals_and_comments_are_left_out(sql: str, shown: str) -> None:
    assert without_literals(sql) == shown


@pytest.mark.parametrize("sql", CASES["secrets"])
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


@pytest.mark.parametrize(("program", "shown"), CASES["programs"])
def test_programs_are_shown_without_their_arguments(program: str, shown: str) -> None:
    assert program_name(program) == shown
    assert len(shown) <= MAX_PROGRAM


@pytest.mark.parametrize(("login", "shown"), CASES["logins"])
def test_logins_are_shown_without_what_was_typed_into_them(login: str, shown: str) -> None:
    assert login_name(login) == shown and (login == shown or program_name(login) != login)


@pytest.mark.parametrize("name", ["remembered", "rememberee", "REMEMBERED"])
def test_a_name_does_not_tell_whether_it_is_a_password(name: str) -> None:
    remember("remembered")
    assert login_name(name) == program_name(name) == name
