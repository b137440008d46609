"""The advice removes the bottlenecks of the simulated VLDB case study, in the case study's order."""

import re

import pyodbc
import pytest
from tests.exporter.top.watching import HOST, Watched, watched

from ase_exporter.advise.advice import Advice, advise
from ase_exporter.readings.live import ADVICE

# What was the bottleneck at each step of the case study (docs/case-studies.md), by what is set.
CASE_STUDY_ORDER = [
    ["lock address spinlock ratio"],
    ["open object spinlock ratio", "open index spinlock ratio"],
    ["system tables cache"],
    ["key tables cache"],
]
MAX_CONTENTION_AFTERWARDS = 0.15
MAX_STEPS = 12
SETS = re.compile("exec sp_(configure|cacheconfig) ")


def current_advice(server: Watched) -> Advice:
    """Advice from two reads of the server, a minute apart, with mon_role alone."""
    return advise(server.evidence(60.0))


def follow(server: Watched, statements: tuple[str, ...]) -> None:
    """Run the statements unchanged, as an administrator."""
    with pyodbc.connect(
        f"DRIVER=FreeTDS;TDS_Version=5.0;SERVER={HOST};PORT={server.run.port};UID=sa;PWD=", autocommit=True
    ) as session:
        for statement in statements:
            session.execute(statement)


@pytest.mark.slow
def test_step_by_step_the_advice_takes_the_server_where_the_case_study_took_it() -> None:
    followed: list[list[str]] = []
    with watched("vldb", selection=ADVICE, budget=None) as server:
        advice = current_advice(server)
        assert max(finding.spinlock.contention for finding in advice.findings) > 0.5
        while todo := [finding for finding in advice.hot if finding.steps]:
            assert len(followed) < MAX_STEPS, followed
            statements = todo[0].steps[0].statements
            followed.append([each.split("'")[1] for each in statements if SETS.match(each)])
            follow(server, statements)
            advice = current_advice(server)
    assert followed == CASE_STUDY_ORDER
    assert (
        max(finding.spinlock.contention for finding in advice.findings if finding.severity != "quiet")
        < MAX_CONTENTION_AFTERWARDS
    )
