"""The first screen of a diff of two runs of the Memscale case study tells the story of its printed table.

Simulated: the baseline and the run with all features of the first series.
"""

import asyncio
import io
import re

import pytest

from ase_exporter.compare.sysmon_findings import configuration_changes, obstacles, pair_findings
from ase_exporter.sysmon import terminal
from ase_exporter.sysmon.difference import changes
from ase_exporter.sysmon.report import parse
from ase_exporter.sysmon.structure import Report
from ase_exporter.untrusted.terminal import PlainConsole
from ase_simulator.contracts import LoginRequest
from ase_simulator.model.scenario import load_scenario
from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Message
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

SCREEN = (80, 24)
STEP_SECONDS = 600.0


async def sampled(server: SimulatedServer, backend: SqlBackend) -> Report:
    """A sample of one minute, taken on the clock of the server."""
    session = backend.login(LoginRequest("sa", ""))
    assert isinstance(session, SqlSession)

    async def messages() -> list[str]:
        found = [result async for result in session.execute("sp_sysmon '00:01:00', noclear")]
        return [result.text for result in found if isinstance(result, Message)]

    task = asyncio.ensure_future(messages())
    while not task.done():
        await asyncio.sleep(0)
        if server.world.clock.sleepers:
            server.advance(60.0)
    session.close()
    return parse("\n".join(task.result()))


def test_the_first_screen_tells_contention_cpu_and_throughput(monkeypatch: pytest.MonkeyPatch) -> None:
    server = load_scenario("memscale", speed=0)[0]
    assert isinstance(server, SimulatedServer)
    backend = SqlBackend(server)
    server.advance(60.0)
    before = asyncio.run(sampled(server, backend))
    server.advance(STEP_SECONDS)
    after = asyncio.run(sampled(server, backend))
    assert before.complete and after.complete
    out = io.StringIO()
    monkeypatch.setattr(terminal, "PlainConsole", lambda: PlainConsole(file=out, width=SCREEN[0]))
    sides = [before], [after]
    found = changes(*sides)
    terminal.print_comparison(
        *sides,
        found[:20],
        len(found),
        warnings=obstacles(*sides),
        findings=pair_findings(*sides),
        configuration=configuration_changes(*sides),
    )
    lines = out.getvalue().splitlines()[: SCREEN[1]]
    assert all(len(line) <= SCREEN[0] for line in lines)
    shown = {}
    for line in lines:
        match = re.match(
            r" *(?:- \w+: )?(?P<name>\w.*?)(?: {2,}| )(?P<before>[\d,.]+) \S+ +(?:-> )?(?P<after>[\d,.]+) ",
            line,
        )
        if match:
            shown[match["name"]] = tuple(float(match[part].replace(",", "")) for part in ("before", "after"))
    busy, throughput = shown["CPU busy"], shown["Transactions per CPU unit"]
    contention = shown["Spinlock contention, system tables cache"]
    assert contention[0] > 2 * contention[1] and busy[0] > busy[1] and throughput[1] > 2 * throughput[0]
