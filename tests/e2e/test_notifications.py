"""The shipped Alertmanager configuration in a real Alertmanager: routing, grouping, inhibition."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle, groupby
from pathlib import Path

import httpx2
import pytest
from tests.alerts.laboratory.lines import time_lines
from tests.alerts.laboratory.promtool import fired
from tests.paths import DEPLOY
from tests.programs import START, answers, eventually, listening

from ase_simulator.demo import scaling
from ase_simulator.demo.processes import HOST
from ase_simulator.demo.webhook import Notification, receiving

ALERTMANAGER = DEPLOY / "alertmanager"
TEMPLATES = str(ALERTMANAGER / "templates" / "*.tmpl")
PACE = scaling.Pace(speed=60, scrape_interval=0.25)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Alertmanager:
    """A running one with the shipped configuration, as one test sees it: through alerts of jobs of its own.

    They are posted as Prometheus does. arrived: all that was sent to the webhook.
    """

    url: str
    arrived: list[Notification]
    job: str = "ase"

    def fire(self, *alerts: dict[str, str], **more: str) -> None:
        """Report alerts as firing."""
        posted = [{"labels": labels, **more} for labels in alerts]
        httpx2.post(f"{self.url}/api/v2/alerts", json=posted, trust_env=False, timeout=60).raise_for_status()

    def resolve(self, *alerts: dict[str, str]) -> None:
        """Report alerts as resolved."""
        self.fire(*alerts, endsAt=(datetime.now(UTC) - timedelta(seconds=1)).isoformat())

    def alert(self, name: str, severity: str, instance: str, **labels: str) -> dict[str, str]:
        return alert(name, severity, f"{self.job}-{instance}", job=self.job) | labels

    def received(self) -> list[Notification]:
        return [each for each in self.arrived if each.labels["job"].startswith(self.job)]

    def names(self, instance: str) -> list[str]:
        """Of the alerts that were sent of a server."""
        return [
            each.name for each in self.received() if each.labels.get("instance") == f"{self.job}-{instance}"
        ]

    def wait(self, *names: str) -> None:
        """Wait until all of these alerts were sent as firing."""

        def sent() -> set[str]:
            return {each.name for each in self.received() if each.status == "firing"}

        eventually(f"{names} are sent", lambda: sent() >= {*names})


@contextmanager
def alertmanager(directory: Path, pace: scaling.Pace) -> Iterator[Alertmanager]:
    arrived: list[Notification] = []
    with receiving(HOST, 0, arrived.append) as webhook:
        text = (ALERTMANAGER / "alertmanager.yml").read_text()
        text = text.replace("127.0.0.1:10155", f"{HOST}:{webhook}")
        (directory / "alertmanager.yml").write_text(scaling.scaled_alertmanager(text, pace, TEMPLATES))
        options = [f"--config.file={directory / 'alertmanager.yml'}", f"--storage.path={directory / 'data'}"]
        options += [f"--web.listen-address={HOST}:0", "--cluster.listen-address="]
        with listening(directory / "alertmanager.log", "prometheus-alertmanager", *options) as port:
            url = f"http://{HOST}:{port}"
            eventually("Alertmanager is ready", partial(answers, f"{url}/-/ready"), START)
            yield Alertmanager(url, arrived)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    with alertmanager(tmp_path_factory.mktemp("shipped"), PACE) as running:
        yield running


@pytest.fixture
def shipped(started: Alertmanager, request: pytest.FixtureRequest) -> Alertmanager:
    return replace(started, job=request.node.name)


def alert(name: str, severity: str, instance: str, **labels: str) -> dict[str, str]:
    return {"alertname": name, "severity": severity, "instance": instance, "job": "ase"} | labels


def test_alerts_reach_the_receiver_of_their_severity_grouped_by_server(shipped: Alertmanager) -> None:
    # One server, as two exporters of a pair and one of another job see it.
    pair = [{"replica": "a"}, {"replica": "b"}, {"job": f"{shipped.job}-other"}]
    shipped.fire(
        shipped.alert("AseChanged", "info", "prod1"),
        shipped.alert("AseBlocking", "warning", "prod1"),
        shipped.alert("AseDeadlocks", "warning", "prod1"),
        shipped.alert("AseLogFilling", "critical", "prod2"),
        *(shipped.alert("AseRunQueue", "warning", "prod3", **labels) for labels in pair),
    )
    shipped.wait("AseChanged", "AseBlocking", "AseDeadlocks", "AseLogFilling", "AseRunQueue")
    received = shipped.received()
    found = {(n.receiver, n.name, n.labels["instance"].removeprefix(f"{shipped.job}-")) for n in received}
    assert found == {
        ("info", "AseChanged", "prod1"),
        ("warning", "AseBlocking", "prod1"),
        ("warning", "AseDeadlocks", "prod1"),
        ("critical", "AseLogFilling", "prod2"),
        ("warning", "AseRunQueue", "prod3"),
    }
    messages = Counter(n.received for n in received if n.name == "AseRunQueue")
    assert list(messages.values()) == [len(pair)]
    assert all(n.group == {"instance": n.labels["instance"]} for n in received)


def test_a_server_that_is_down_inhibits_its_other_alerts_and_no_other_servers(shipped: Alertmanager) -> None:
    down = shipped.alert("AseDown", "critical", "prod1")
    shipped.fire(down)
    shipped.wait("AseDown")
    shipped.fire(
        shipped.alert("AseBlocking", "warning", "prod1"),
        shipped.alert("AseLogFilling", "critical", "prod1", database="orders"),
        shipped.alert("AseDeadlocks", "warning", "prod2"),
        # A server of the same name elsewhere, and the same one as another exporter sees it.
        shipped.alert("AseRunQueue", "warning", "prod1", datacenter="b"),
        shipped.alert("AseConnectionsNearLimit", "warning", "prod1", replica="b"),
    )
    shipped.wait("AseDeadlocks", "AseRunQueue", "AseConnectionsNearLimit")
    assert set(shipped.names("prod1")) == {"AseDown", "AseRunQueue", "AseConnectionsNearLimit"}
    shipped.resolve(down)
    # Inhibited alerts are sent as soon as the server is back: they had arrived and were held back.
    shipped.wait("AseBlocking")


def test_a_dead_exporter_of_many_servers_is_one_notification(shipped: Alertmanager) -> None:
    servers = [f"prod{number}" for number in range(300)]
    # Only `up` has the label exporter, so the servers' other alerts do not.
    job = {"alertname": "AseJobDown", "severity": "critical", "job": shipped.job, "exporter": "a"}
    shipped.fire(job)
    shipped.fire(*(shipped.alert("AseExporterDown", "critical", server, exporter="a") for server in servers))
    shipped.fire(*(shipped.alert("AseLogFilling", "critical", server, database="o") for server in servers))
    shipped.wait("AseJobDown")
    # The last alert, of another job: when it arrives, everything before it has been sent.
    shipped.fire(shipped.alert("AseBlocking", "warning", "other1", job=f"{shipped.job}-other"))
    shipped.wait("AseBlocking")
    assert {each.name for each in shipped.received()} == {"AseJobDown", "AseBlocking"}
    # When some of its servers can be scraped again, the alerts of the others are sent.
    shipped.resolve(job)
    shipped.wait("AseExporterDown")


def test_targets_that_vanish_together_are_one_notification(shipped: Alertmanager) -> None:
    shipped.fire(*(shipped.alert("AseTargetVanished", "warning", f"prod{number}") for number in range(20)))
    shipped.wait("AseTargetVanished")
    (group,) = {str(each.group) for each in shipped.received()}
    assert group == str({"alertname": "AseTargetVanished", "job": shipped.job})
    assert len(shipped.received()) == 20


def test_maintenance_inhibits_the_other_alerts_of_its_server_and_is_not_sent(shipped: Alertmanager) -> None:
    maintenance = shipped.alert("AseMaintenance", "none", "prod1")
    down = shipped.alert("AseDown", "critical", "prod1")
    shipped.fire(maintenance)
    shipped.fire(
        down, shipped.alert("AseBlocking", "warning", "prod1"), shipped.alert("AseDown", "critical", "prod2")
    )
    shipped.wait("AseDown")
    shipped.resolve(down)
    shipped.resolve(maintenance)
    # An inhibited alert that still fires is sent afterwards: it had arrived and was held back.
    shipped.wait("AseBlocking")
    assert (shipped.names("prod1"), shipped.names("prod2")[:1]) == (["AseBlocking"], ["AseDown"])


def test_critical_inhibits_the_warning_of_the_same_subject_only(shipped: Alertmanager) -> None:
    name = "AseSpaceLow"
    shipped.fire(
        shipped.alert(name, "critical", "prod1", database="orders"),
        shipped.alert(name, "warning", "prod1", database="orders"),
        shipped.alert(name, "warning", "prod1", database="history"),
    )
    shipped.wait(name)
    # The last alert: when it arrives, everything before it has been sent.
    shipped.fire(shipped.alert("AseBlocking", "warning", "prod1"))
    shipped.wait("AseBlocking")
    received = {(n.labels["severity"], n.labels["database"]) for n in shipped.received() if n.name == name}
    assert received == {("critical", "orders"), ("warning", "history")}


# What happens on healthy servers, some of them around a limit, and the alert of each that is not one.
QUIET = [
    "a batch takes 70 % of the locks every night",
    "a batch takes the log a little further than the last one",
    "a load of 15 % of the data",
    "a log between hourly dumps, to 55 %",
    "a log between nightly dumps",
    "a log whose use varies",
    "a new database is loaded",
    "a spinlock contended for 30 s",
    "a staging load takes 70 % of tempdb every night",
    "data is purged every night",
    "one sample with blocked tasks",
    "sorts take a third of tempdb for five minutes",
    "the log is dumped once a day",
    "the use of a nearly full tempdb varies",
]
INCIDENTS = {
    "a log fills in six hours": "AseLogFilling",
    "a suspect database": "AseDatabaseUnavailable",
    "an engine is lost": "AseEngineLost",
    "one lock holder blocks thirty tasks": "AseBlocking",
    "the server stops for good": "AseDown",
}
NIGHT = 14 * 3600


@pytest.mark.slow
def test_a_night_of_300_servers_pages_for_incidents_alone(tmp_path: Path) -> None:
    """What Prometheus fires in the laboratory in the second night of each server, 1,200 times as fast."""
    lines = {line.title: line for line in time_lines() if line.title in {*QUIET, *INCIDENTS}}
    alerts = fired(lines.values())
    servers = dict(zip((f"prod{number}" for number in range(300)), cycle(QUIET), strict=False))
    servers |= {f"incident{number}": name for number, name in enumerate(INCIDENTS)}
    events = []
    for server, line in servers.items():
        begins = 24 * 3600 if lines[line].lasts > 24 * 3600 else 0
        for name, periods in alerts[line].items():
            # Time lines over days are scraped every minute, which the rules for 15 s tell.
            if name.startswith("AseScrapedTooRarely"):
                continue
            severity = "critical" if name.endswith(" critical") else "warning"
            labels = alert(name.removesuffix(" critical"), severity, server)
            for start, end in periods:
                if begins <= start < begins + NIGHT:
                    events += [(start - begins, True, labels), (end - begins, False, labels)]
    pace = scaling.Pace(speed=1200, scrape_interval=0.05)
    with alertmanager(tmp_path, pace) as running:
        began = time.monotonic()
        for (at, fires), group in groupby(
            sorted(events, key=lambda each: each[:2]), key=lambda each: each[:2]
        ):
            time.sleep(max(0.0, began + at / pace.speed - time.monotonic()))
            (running.fire if fires else running.resolve)(*(labels for _, _, labels in group))
        running.fire(alert("AseChanged", "info", "the end"))
        running.wait("AseChanged")
        sent = [n for n in running.received() if n.status == "firing" and n.receiver != "info"]
    pages = sorted((n.labels["instance"], n.name) for n in sent if n.receiver == "critical")
    print(f"{len(servers)} servers: {len(sent)} notifications, of them {len(pages)} pages: {pages}")
    assert {*pages} == {(f"incident{number}", name) for number, name in enumerate(INCIDENTS.values())}
    assert len(pages) <= 10
