"""No SQL text of users, no control characters and no endless text leaves the server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.mcp_server.privacy import LEFT_OUT, MAX_TEXT, public_text


@pytest.mark.parametrize(
    "text",
    [
        "select name from customers",
        "SELECT *\nFROM accounts a",
        "batch: insert into t values (1, 'x')",
        "insert t select 1",
        "update accounts set balance = 0",
        "delete from customers where id = 5",
        "delete customers where id = 5",
        "... where ssn = '123-45-6789'",
        "merge into t using s on 1=1",
        "with (nolock) where name like 'A%'",
    ],
)
def test_statements_are_left_out(text: str) -> None:
    assert public_text(text) == LEFT_OUT


@pytest.mark.parametrize(
    "text",
    [
        "system tables cache",
        "option: lock address spinlock ratio 100 -> 5",
        "update statistics",
        "select into/bulkcopy/pllsort",
        "exec sp_cacheconfig 'log cache', 'cache_partition=16'",
        "insert rate of orders",
        "deployment 4711: new index, where needed",
        "Resource->rdesmgr_spin",
        "delete old dumps",
    ],
)
def test_names_and_settings_stay(text: str) -> None:
    assert public_text(text) == text


def test_a_long_text_is_no_long_search() -> None:
    """A million characters that begin a statement at every word: searched whole, it would take hours."""
    assert len(public_text("select " * 150_000)) == MAX_TEXT


@given(st.text())
def test_any_text_becomes_one_short_printable_line(text: str) -> None:
    found = public_text(text)
    assert len(found) <= max(MAX_TEXT, len(LEFT_OUT))
    assert found.isprintable()
    found.encode()
