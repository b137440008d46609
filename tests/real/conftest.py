"""One server for all tests of this folder, prepared, under load, and scraped by a real exporter and Prometheus."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import pytest
import yaml
from tests.exporter.compare.conftest import running_prometheus
from tests.exporter.conftest import run  # noqa: F401  # a fixture
from tests.exporter.running_exporter import exporter
from tests.programs import START, eventually
from tests.real import ase

from ase_exporter.compare.prometheus import Prometheus

IS_REAL = "REAL_ASE_HOST" in os.environ
REAL = pytest.param(None, id="real")
SIMULATED = ["16.0 SP04", "15.7 SP138 CE", "12.5.4"]
STAND_INS = [os.environ["STAND_IN"]] if "STAND_IN" in os.environ else SIMULATED


@pytest.fixture(scope="session", params=[REAL] if IS_REAL else STAND_INS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ase.Server]:
    _outcomes.clear()
    seconds = ase.STAND_IN_SECONDS if "STAND_IN" in os.environ else ase.SHORT_SECONDS
    with ase.server(request.param, tmp_path_factory.mktemp("reports"), seconds) as found:
        ase.prepare(found)
        with ase.load(found):
            yield found
        _write_result(found)


@dataclass(frozen=True)
class Watch:
    """A running exporter and the Prometheus that scrapes it. interval, since: Unix seconds of its scrapes."""

    exporter: str
    prometheus: str
    interval: float
    since: float


@pytest.fixture(scope="session")
def watch(server: ase.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    folder = tmp_path_factory.mktemp("watch")
    # The simulator answers slowly: it is asked often, and its budget is large.
    short = server.seconds <= ase.SHORT_SECONDS
    interval, budget = (15, "1%") if server.is_real else (3 if short else 5, "100%")
    configuration = {
        "targets": [{"name": ase.NAME, "host": server.host, "port": server.port, "budget": budget}],
        "auth": {"default": {"user": server.monitor.user, "password": server.monitor.password}},
        "changes": {"interval": f"{interval}s"},
    }
    with exporter(folder, json.dumps(configuration)) as running:
        job = {
            "job_name": "ase",
            "metrics_path": "/probe",
            "params": {"target": [ase.NAME]},
            "static_configs": [
                {"targets": [running.url.removeprefix("http://")], "labels": {"instance": ase.NAME}}
            ],
        }
        times = {"scrape_interval": f"{interval}s", "scrape_timeout": f"{min(interval, 10)}s"}
        scraped = {"global": times, "scrape_configs": [job]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(scraped))
        with running_prometheus(folder) as url, Prometheus(url) as prometheus:
            eventually("the first scrape", lambda: bool(prometheus.query("ase_up == 1")), START)
            yield Watch(running.url, url, interval, time.time())
        server.write("exporter.log", running.log)


_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how each test ended."""
    if report.when == "call" or report.outcome != "passed":
        _outcomes[report.nodeid.partition("::")[2].partition("[")[0]] = report.outcome


def _write_result(found: ase.Server) -> None:
    """Write result.json, which docs/internals/real-servers.md lists once it is committed."""
    with found.connected(found.sa) as admin:
        ((banner,),) = admin.query("select @@version", time.monotonic() + ase.TIMEOUT)
    result = {
        "banner": banner,
        "date": datetime.now(UTC).date().isoformat(),
        "exporter": version("ase-exporter"),
        "real": found.is_real,
        "seconds": found.seconds,
        "outcomes": _outcomes,
    }
    found.write("result.json", json.dumps(result, indent=2) + "\n")
