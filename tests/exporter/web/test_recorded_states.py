"""The landing page shows what a real Prometheus has recorded of each server."""

import time
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from tests.exporter.compare.conftest import prometheus_with
from tests.needs import needs_prometheus

from ase_exporter.config.changes import VerdictConfig
from ase_exporter.scraping.result import ScrapeSummary, TargetState
from ase_exporter.web.app import landing_page
from ase_exporter.web.recorded_states import RecordedState, RecordedStates

SAMPLES = """\
# TYPE ase:diagnosis_first:rank gauge
ase:diagnosis_first:rank{{instance="HOT",word="SPINNING"}} 0.6 {at}
ase:diagnosis_first:rank{{instance="WELL",word="WORKS"}} -2 {at}
# TYPE ALERTS gauge
ALERTS{{alertname="AseSpinningCpu",alertstate="firing",instance="HOT"}} 1 {at}
ALERTS{{alertname="AseDown",alertstate="pending",instance="WELL"}} 1 {at}
# EOF
"""


@needs_prometheus
def test_first_findings_and_firing_alerts_are_those_of_prometheus(tmp_path: Path) -> None:
    with prometheus_with(SAMPLES.format(at=int(time.time()) - 60), tmp_path) as url:
        found, problem = anyio.run(RecordedStates(VerdictConfig(prometheus=url)).read)
    assert problem == ""
    assert {name: (state.word, state.style, state.alerts) for name, state in found.items()} == {
        "HOT": ("SPINNING", "worse", {"AseSpinningCpu"}),
        "WELL": ("WORKS", "better", set()),
    }


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (VerdictConfig(prometheus="http://127.0.0.1:1"), "Prometheus at http://127.0.0.1:1: "),
        (
            VerdictConfig(prometheus="http://127.0.0.1:1", selector="a=~'{target}'"),
            "verdicts.selector: expected",
        ),
    ],
)
def test_without_an_answer_the_page_says_why(config: VerdictConfig, said: str) -> None:
    found, problem = anyio.run(RecordedStates(config).read)
    assert found == {} and problem.startswith(said)
    assert said in page(found, problem).replace("&#39;", "'")


def test_each_server_leads_to_its_changes_and_dashboard() -> None:
    text = page({"A/B": RecordedState("LOG", 0.3, {"AseLogSemaphore"})})
    assert '<span class="changed">LOG</span>' in text and "AseLogSemaphore" in text
    assert 'href="changes?target=A/B">2 recent changes<' in text
    assert 'href="https://grafana/d/ase-server?var-instance=A/B"' in text
    assert "spinlocks and 1 more cannot be read" in text


def page(recorded: Mapping[str, RecordedState], problem: str = "") -> str:
    summary = ScrapeSummary(up=True, series=7, unreadable=("spinlocks", "waits"))
    states = {"A/B": TargetState(summary, at=0.0)}
    return landing_page(states, recorded, problem, changed={"A/B": 2}, grafana="https://grafana")
