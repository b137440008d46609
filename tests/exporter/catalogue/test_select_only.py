"""Custom statements: one select and nothing else."""

import pytest

from ase_exporter.catalogue.select_only import select_problem


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "  SELECT db_name(dbid), count(*) from master..sysprocesses group by dbid order by 1",
        "select a from t union all select b from u union select c from v",
        "select a from t where b in (select c from u)",
        "select 'delete; drop', \"update\", [insert] from t -- delete\n/* exec */",
        "select deleted_rows, updates, @@spid from t at isolation read uncommitted",
    ],
)
def test_a_select_is_accepted(text: str) -> None:
    assert select_problem(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("delete master..sysprocesses", "`delete`"),
        ("exec sp_who", "`exec`"),
        ("sp_who", "`sp_who`"),
        ("select 1 delete t", "`delete`"),
        ("select 1; select 2", "`;`"),
        ("select 1 select 2", "a second `select`"),
        ("select * into copy from t", "`into`"),
        ("set rowcount 0 select 1", "`set`"),
        ("select 1\ngo\nshutdown", "`go`"),
        ("-- only a comment", "nothing"),
    ],
)
def test_anything_else_is_named(text: str, found: str) -> None:
    assert select_problem(text) == f"`sql`: expected one select and nothing else, found {found}"
