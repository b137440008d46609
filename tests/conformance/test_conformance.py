"""The conformance list, driven through clients of others."""

import re

from tests.conformance import cases
from tests.conformance.target import Target
from tests.conformance.transcript import Client, Row, Transcript

NULLS = (None, "NULL", "")


def _last(answer: Transcript, width: int) -> Row:
    """The last row of that many columns: the tools print other lines too."""
    found = [row for row in answer.rows if len(row) == width]
    assert found, answer
    return found[-1]


def test_login(client: Client, target: Target) -> None:
    assert client.login(target.password).errors == []


def test_login_with_a_wrong_password(client: Client) -> None:
    errors = client.login("wrong").errors
    assert errors
    assert "Login failed" in errors[0][1]


def test_values_of_all_types(client: Client) -> None:
    answer = client.batch(cases.select_values(cases.TYPES))
    row = _last(answer, len(cases.TYPES))
    wrong = [
        (case.sql_type, shown)
        for case, shown in zip(cases.TYPES, row, strict=True)
        if not re.fullmatch(case.shown, shown or "")
    ]
    assert wrong == []


def test_null_of_all_types(client: Client) -> None:
    nullable = [case for case in cases.TYPES if case.type.name != "bit"]
    answer = client.batch(cases.select_nulls(nullable))
    row = _last(answer, len(nullable))
    assert [case.sql_type for case, shown in zip(nullable, row, strict=True) if shown not in NULLS] == []


def test_an_error(client: Client) -> None:
    number, text = client.batch(cases.MISSING_TABLE).errors[0]
    assert "no_such_table not found" in text
    assert number in ("208", "")


def test_print(client: Client) -> None:
    answer = client.batch(cases.PRINT)
    assert any("hello from the server" in text for _, text in answer.messages)
    assert answer.errors == []


def test_several_sets(client: Client) -> None:
    answer = client.batch(cases.SEVERAL_SETS)
    wanted = [[["1", "one"]], [], [["3", "three"], ["4", "four"]]]
    assert any("in between" in text for _, text in answer.messages)
    if answer.parted:
        assert answer.sets == wanted
    else:
        assert [row for row in answer.rows if row in wanted[0] + wanted[2]] == wanted[0] + wanted[2]


def test_counts(client: Client) -> None:
    answer = client.batch(cases.COUNTED)
    assert [row for row in answer.rows if row in (["6"], ["7"])] == [["6"], ["7"]]
    if answer.counts:
        assert answer.counts[-3:] == [1, 1, 2]


def test_cancel(client: Client, target: Target) -> None:
    client.start(cases.HANG)
    assert target.watch.hanging.wait(60)
    assert not target.watch.over.is_set()
    answer = client.cancel()
    assert target.watch.over.wait(60)
    if answer.parted:
        assert answer.errors
    assert ["42"] in client.batch(cases.ALIVE).rows


def test_a_big_result(client: Client) -> None:
    (count,) = (row for row in client.batch(cases.BIG_COUNT).rows if re.fullmatch(r"\d{5,}", row[0] or ""))
    rows = [
        row for row in client.batch(cases.BIG).rows if len(row) == 2 and re.fullmatch(r"\d+", row[0] or "")
    ]
    assert len(rows) == int(count[0] or 0)
