"""The advice removes the bottlenecks of the simulated VLDB case study, in the case study's order."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pyodbc
import pytest

from ase_exporter.advise.advice import Advice, advise
from ase_exporter.advise.evidence import gather
from ase_exporter.ase.connection import Connection, Endpoint
from ase_exporter.catalogue import load_catalogue

# What was the bottleneck at each step of the case study (docs/case-studies.md), by the spinlock that shows it.
CASE_STUDY_ORDER = [
    {"addrlockspins"},
    {"Des Upd Spinlocks", "Ides Spinlocks"},
    {"default data cache"},
    {"default data cache"},
]
MAX_CONTENTION_AFTERWARDS = 0.15
SPEED = 60
MAX_STEPS = 12


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The vldb scenario in a simulated server, sped up."""
    simulator = subprocess.Popen(
        [
            *(sys.executable, "-m", "ase_simulator", "--scenario", "vldb", "--port", "0"),
            *("--speed", str(SPEED), "--login", "monitor:watch", "--login", "sa:admin"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert simulator.stdout is not None
    line = simulator.stdout.readline()
    yield int(line.strip().rpartition(":")[2])
    simulator.terminate()
    simulator.wait(60)


def current_advice(port: int) -> Advice:
    """Advice from two reads of the server, a simulated minute apart, with mon_role alone."""
    catalogue, problems = load_catalogue()
    assert problems == []
    connection = Connection.open(
        Endpoint("127.0.0.1", port), "monitor", "watch", deadline=time.monotonic() + 60
    )
    try:
        return advise(gather(lambda sql: connection.query(sql, time.monotonic() + 60), catalogue, 60 / SPEED))
    finally:
        connection.close()


def follow(port: int, statements: tuple[str, ...]) -> None:
    """Run the statements unchanged, as an administrator."""
    with pyodbc.connect(
        f"DRIVER=FreeTDS;TDS_Version=5.0;SERVER=127.0.0.1;PORT={port};UID=sa;PWD=admin", autocommit=True
    ) as session:
        for statement in statements:
            session.execute(statement)


@pytest.mark.e2e
def test_step_by_step_the_advice_takes_the_server_where_the_case_study_took_it(port: int) -> None:
    followed: list[set[str]] = []
    advice = current_advice(port)
    assert max(finding.spinlock.contention for finding in advice.findings) > 0.5
    while todo := [finding for finding in advice.hot if finding.steps]:
        assert len(followed) < MAX_STEPS, followed
        followed.append(set(todo[0].steps[0].changes))
        follow(port, todo[0].steps[0].statements)
        advice = current_advice(port)
    assert followed == CASE_STUDY_ORDER
    assert (
        max(finding.spinlock.contention for finding in advice.findings if finding.severity != "quiet")
        < MAX_CONTENTION_AFTERWARDS
    )
