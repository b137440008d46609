"""DBA queries return what the model's state implies."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.simulator.sql.dba_answers import Row
from tests.simulator.sql.dba_queries import ANSWERS
from tests.simulator.sql.fake import Client

from ase_simulator.model import load_scenario
from ase_simulator.model.server import SimulatedServer

QUERIES: dict[str, str] = yaml.safe_load(Path(__file__).with_name("dba_queries.yaml").read_text())


@pytest.fixture(scope="module")
def server() -> SimulatedServer:
    """Two minutes into the memscale scenario, with a stopped clock."""
    (server,) = load_scenario("memscale", seed=7, speed=0.0)
    server.advance(120)
    return server


@pytest.fixture(scope="module")
def tables(server: SimulatedServer) -> Callable[[str], list[Row]]:
    """The model's rows by table name, before any client connected; `options` and `seconds up` besides."""
    kept: dict[str, list[Row]] = {}

    def read(name: str) -> list[Row]:
        if name not in kept:
            kept[name] = [dict(row) for row in server.table(name)]
        return kept[name]

    fields = ("name", "configured", "run", "default", "static")
    kept["options"] = [{f: getattr(option, f) for f in fields} for option in server.options()]
    started = next(iter(server.table("monState")))["StartDate"]
    kept["seconds up"] = [{"seconds": (server.now() - started).seconds}]  # type: ignore[operator]
    for name in ("sysprocesses", "monProcess", "monState", "monProcessActivity", "monErrorLog", "syslogins"):
        read(name)
    return read


@pytest.fixture(scope="module")
def client(server: SimulatedServer, tables: Callable[[str], list[Row]]) -> Client:
    del tables
    return Client(server)


def _plain(value: Any) -> Any:
    """Exact and approximate numbers compare by value."""
    return round(float(value), 6) if isinstance(value, Decimal | float) else value


@pytest.mark.parametrize("name", QUERIES)
def test_query_answers_from_the_models_state(
    name: str, client: Client, tables: Callable[[str], list[Row]]
) -> None:
    wanted = [tuple(_plain(value) for value in row) for row in ANSWERS[name](tables)]
    found = [tuple(_plain(value) for value in row) for row in client.rows(QUERIES[name])]
    assert found == wanted


def test_most_queries_return_rows(tables: Callable[[str], list[Row]]) -> None:
    empty = [name for name, answer in ANSWERS.items() if not list(answer(tables))]
    assert len(empty) <= 2, empty
