"""T-SQL statements and their answers, listed in statements.yaml, and queries of DBAs, in dba_queries.yaml."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.results import Disconnect, Message, ReturnStatus, Rows


def listed(name: str) -> Any:
    return yaml.load(Path(__file__).with_name(name).read_text(), yaml.CSafeLoader)


CASES: list[dict[str, Any]] = listed("statements.yaml") + listed("dba_queries.yaml")
SERVERS: dict[str, Any] = listed("servers.yaml")
# Who is logged in, where it is not sa.
LOGINS = {"monitor": ("ase_exporter", "exporter"), "dba": ("dba", "secret1")}


def shown(value: object) -> object:
    """A value as statements.yaml writes it: exact numbers and dates as text, bytes in hexadecimal."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value) if isinstance(value, Decimal | date) else value


def answered(session: Client, sql: str) -> dict[str, object]:
    """What a batch gives, by the keys of statements.yaml."""
    results = session.results(sql)
    sets = [result for result in results if isinstance(result, Rows)]
    rows = [[[*map(shown, row)] for row in each.rows] for each in sets]
    messages = [result for result in results if isinstance(result, Message)]
    errors = [message for message in messages if message.severity > 10]
    return {
        "sets": rows,
        "rows": rows[-1] if rows else None,
        "columns": [column.name for column in sets[-1].columns] if sets else None,
        "nullable": [column.nullable for column in sets[-1].columns] if sets else None,
        "prints": [message.text for message in messages if message.severity <= 10],
        "numbers": [message.number for message in messages if message.severity <= 10],
        "errors": [error.number for error in errors],
        "texts": [error.text for error in errors],
        "lines": [error.line for error in errors],
        "status": [result.value for result in results if isinstance(result, ReturnStatus)],
        "ends": Disconnect() in results,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["what"]))
def test_statements_are_answered_as_ase_answers_them(case: dict[str, Any]) -> None:
    client = Client(FakeServer("16.0 SP04", **SERVERS[case.get("server", "empty")]))
    sessions = {"": client}
    for step in case.get("steps", ()):
        name = step.get("session", "")
        if name not in sessions:
            sessions[name] = Client(client.backend.server, *LOGINS.get(name, ("sa", "")), client.backend)
        found = answered(sessions[name], step["sql"])
        wanted = {"errors": []} | {key: value for key, value in step.items() if key not in ("sql", "session")}
        assert {key: found[key] for key in wanted} == wanted, step
    assert {sql: shown(client.value(sql)) for sql in case.get("values", {})} == case.get("values", {})
    assert {sql: client.type(sql) for sql in case.get("types", {})} == case.get("types", {})
