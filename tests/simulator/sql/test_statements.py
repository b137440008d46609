"""T-SQL statements and their answers, listed in statements.yaml."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.simulator.sql.fake import BOOT, Client, FakeServer

from ase_simulator.contracts import Row
from ase_simulator.results import Rows

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text())
_DATABASES: list[Row] = [
    {"name": "master", "dbid": 1, "status": 8},
    {"name": "shop", "dbid": 4, "status": 8},
]
# The tables of the servers that statements.yaml names.
SERVERS: dict[str, dict[str, list[Row]]] = {
    "empty": {},
    "one process": {
        "sysprocesses": [{"spid": 5, "status": "running", "cmd": "SELECT", "cpu": 7, "suid": 1, "dbid": 1}]
    },
    "two processes": {"sysprocesses": [{"spid": 1}, {"spid": 2}], "sysdatabases": _DATABASES[1:]},
    "processes": {
        "sysprocesses": [
            {"spid": 5, "blocked": 0, "suid": 1, "cmd": "SELECT"},
            {"spid": 6, "blocked": 5, "suid": 3, "cmd": "UPDATE"},
            {"spid": 7, "blocked": 5, "suid": 3, "cmd": "UPDATE"},
            {"spid": 8, "blocked": 0, "suid": 9, "cmd": "X"},
        ]
    },
    "monitored": {
        "sysprocesses": [{"spid": 1}, {"spid": 2}],
        "sysdatabases": _DATABASES,
        "sysusages": [{"dbid": 4, "segmap": 7, "lstart": 0, "size": 5120, "unreservedpgs": 100}],
    },
    "shop": {
        "sysprocesses": [{"spid": 1, "suid": 1, "status": "running"}],
        "sysdatabases": _DATABASES,
        "sysusages": [{"dbid": 4, "size": 5120}, {"dbid": 4, "size": 2560}, {"dbid": 1, "size": 256}],
    },
    "spinlocks": {
        "monSpinlockActivity": [
            {"SpinlockName": "default data cache", "SpinlockSlotID": 1, "Grabs": 10**12},
            {"SpinlockName": "default data cache", "SpinlockSlotID": 2, "Grabs": 100},
            {"SpinlockName": "fglockspins", "SpinlockSlotID": 3, "Grabs": 7},
        ],
        "monState": [{"StartDate": BOOT, "Transactions": 2**31 + 5}],
    },
}


def shown(value: object) -> object:
    """A value as statements.yaml writes it: exact numbers and dates as text, bytes in hexadecimal."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value) if isinstance(value, Decimal | date) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["what"]))
def test_statements_are_answered_as_ase_answers_them(case: dict[str, Any]) -> None:
    client = Client(FakeServer("16.0 SP04", **SERVERS[case.get("server", "empty")]))
    other = Client(client.backend.server, backend=client.backend)
    for step in case.get("steps", ()):
        session = other if step.get("session") == "other" else client
        if "rows" in step:
            assert [[*map(shown, row)] for row in session.rows(step["sql"])] == step["rows"], step
        if "sets" in step:
            sets = [result.rows for result in session.results(step["sql"]) if isinstance(result, Rows)]
            assert [[[*map(shown, row)] for row in rows] for rows in sets] == step["sets"], step
        if "prints" in step:
            assert session.printed(step["sql"]) == step["prints"], step
        if not {"rows", "sets", "prints"} & step.keys():
            assert session.errors(step["sql"]) == step.get("errors", []), step
    assert {sql: shown(client.value(sql)) for sql in case.get("values", {})} == case.get("values", {})
    assert {sql: client.type(sql) for sql in case.get("types", {})} == case.get("types", {})
