"""The SQL of DbxTune's collectors on seven versions gives no error that a real server would not give."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance import judges
from tests.conformance.dbxtune import Collector, collectors, version

from ase_simulator.contracts import LoginRequest
from ase_simulator.model import load_scenario
from ase_simulator.results import Message, Rows
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

VERSIONS = {
    "12.5.4": (12, 5, 4),
    "15.0.3": (15, 0, 3, 3),
    "15.5": (15, 5, 0, 1),
    "15.7 ESD#2": (15, 7, 0, 2),
    "15.7 SP138 CE": (15, 7, 0, 138),
    "16.0 SP02": (16, 0, 0, 2, 6),
    "16.0 SP04": (16, 0, 0, 4, 3),
}
PROCEDURES = "src/com/dbxtune/cm/sql"
_UP_SECONDS = 3600
LOADED = ("sp_missing_stats", "sp_asetune_qp_metrics", "sp_asetune_ra_stats")

# Errors that a real server gives as well: collector and number.
AS_ON_A_SERVER = {
    ("CmRaSysmon", 99000): "DbxTune's own procedure says that no database is replicated",
    ("CmStmntCacheHistory", 208): "before 15.0.2 there is no monCachedStatement",
    ("CmStmntCacheHistory", 207): "it reads columns of 15.7 on every version",
}


class Server:
    def __init__(self, name: str, checkout: Path) -> None:
        (model,) = load_scenario("quiet-oltp", version=name, speed=0)
        model.advance(_UP_SECONDS)
        session = SqlBackend(model).login(LoginRequest("sa", "", "host", "DbxTune"))
        assert isinstance(session, SqlSession)
        self.version = version(*VERSIONS[name])
        self.cluster = name.endswith("CE")
        self._session = session
        for procedure in LOADED:
            text = (checkout / PROCEDURES / f"{procedure}.sql").read_text("utf-8", "replace")
            for batch in re.split(r"(?im)^\s*go\s*$", text):
                self.errors(batch)

    def errors(self, sql: str) -> list[int]:
        """The numbers of the errors of a batch, all of whose rows are read."""

        async def ask() -> list[int]:
            found = []
            async for result in self._session.execute(sql):
                if isinstance(result, Rows):
                    list(result.rows)
                elif isinstance(result, Message) and result.severity > 10:
                    found.append(result.number)
            return found

        return asyncio.run(ask())


@pytest.fixture(scope="module", params=list(VERSIONS))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield Server(request.param, judges.needed(judges.DBXTUNE))


@pytest.mark.timeout(600)
def test_collectors(server: Server) -> None:
    every = [each for each in collectors(judges.needed(judges.DBXTUNE)) if each.needs() <= server.version]
    assert len(every) >= 30
    found = {(each.name, number) for each in every for number in _errors(server, each)}
    assert found - AS_ON_A_SERVER.keys() == set()


def _errors(server: Server, collector: Collector) -> Iterator[int]:
    server.errors("use master")
    for batch in collector.sql(server.version, cluster=server.cluster):
        yield from server.errors(batch)
