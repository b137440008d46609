"""The shipped Alertmanager configuration in a real Alertmanager: routing, grouping, inhibition, texts."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from tests.alerts.laboratory.table import found
from tests.paths import DEPLOY
from tests.programs import answers, eventually, listening

from ase_exporter.demo import scaling
from ase_exporter.demo.ports import HOST
from ase_exporter.demo.webhook import Notification, Webhook

ALERTMANAGER = DEPLOY / "alertmanager"
TEMPLATES = str(ALERTMANAGER / "templates" / "*.tmpl")
PAIR: list[dict[str, str]] = [{"replica": "a"}, {"replica": "b"}, {"job": "other"}]
PACE = scaling.Pace(speed=60, scrape_interval=0.25)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


class Alertmanager:
    """A client that posts alerts to a running Alertmanager, as Prometheus does."""

    def __init__(self, url: str) -> None:
        self.url = url

    def fire(self, *alerts: dict[str, str]) -> None:
        """Report alerts as firing."""
        self._post([{"labels": labels, "annotations": annotations(labels)} for labels in alerts])

    def resolve(self, *alerts: dict[str, str]) -> None:
        """Report alerts as resolved."""
        over = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
        self._post(
            [{"labels": labels, "annotations": annotations(labels), "endsAt": over} for labels in alerts]
        )

    def _post(self, alerts: list[dict[str, Any]]) -> None:
        httpx2.post(f"{self.url}/api/v2/alerts", json=alerts, trust_env=False, timeout=60).raise_for_status()


@contextmanager
def alertmanager(configuration: str, directory: Path) -> Iterator[Alertmanager]:
    (directory / "alertmanager.yml").write_text(configuration)
    options = [f"--config.file={directory / 'alertmanager.yml'}", f"--storage.path={directory / 'data'}"]
    options += [f"--web.listen-address={HOST}:0", "--cluster.listen-address="]
    with listening(directory / "alertmanager.log", "prometheus-alertmanager", *options) as port:
        url = f"http://{HOST}:{port}"
        eventually("Alertmanager is ready", partial(answers, f"{url}/-/ready"))
        yield Alertmanager(url)


@contextmanager
def shipped(directory: Path) -> Iterator[tuple[Alertmanager, Webhook]]:
    text = (ALERTMANAGER / "alertmanager.yml").read_text()
    with Webhook(HOST) as webhook:
        text = text.replace("127.0.0.1:10155", f"{HOST}:{webhook.port}")
        with alertmanager(scaling.scaled_alertmanager(text, PACE, TEMPLATES), directory) as running:
            yield running, webhook


def alert(name: str, severity: str, instance: str, **labels: str) -> dict[str, str]:
    return {"alertname": name, "severity": severity, "instance": instance, "job": "ase"} | labels


def annotations(labels: dict[str, str]) -> dict[str, str]:
    return {
        "summary": f"{labels.get('instance', labels['job'])}: {labels['alertname']}",
        "description": "What it means.",
        "dashboard_url": "http://grafana/d/x",
        "runbook_url": "http://runbooks/x.md",
    }


def heard(webhook: Webhook) -> set[tuple[str, str, str, str]]:
    return {(n.receiver, n.status, n.name, n.labels["instance"]) for n in webhook.notifications()}


def has(name: str, status: str = "firing") -> Any:
    def wanted(all_of_them: list[Notification]) -> bool:
        return any(each.name == name and each.status == status for each in all_of_them)

    return wanted


def test_alerts_reach_the_receiver_of_their_severity_grouped_by_server(tmp_path: Path) -> None:
    with shipped(tmp_path) as (running, webhook):
        running.fire(
            alert("AseChanged", "info", "prod1"),
            alert("AseBlocking", "warning", "prod1"),
            alert("AseDeadlocks", "warning", "prod1"),
            alert("AseLogFilling", "critical", "prod2"),
            # One server, as two exporters of a pair and one of another job see it.
            *(alert("AseRunQueue", "warning", "prod3", **labels) for labels in PAIR),
        )
        assert webhook.wait(lambda all_of_them: len({n.name for n in all_of_them}) == 5, timeout=60)
        assert heard(webhook) == {
            ("info", "firing", "AseChanged", "prod1"),
            ("warning", "firing", "AseBlocking", "prod1"),
            ("warning", "firing", "AseDeadlocks", "prod1"),
            ("critical", "firing", "AseLogFilling", "prod2"),
            ("warning", "firing", "AseRunQueue", "prod3"),
        }
        messages = Counter(n.received for n in webhook.notifications() if n.labels["instance"] == "prod3")
        assert list(messages.values()) == [len(PAIR)]
        assert all(n.group == {"instance": n.labels["instance"]} for n in webhook.notifications())


def test_a_server_that_is_down_inhibits_its_other_alerts_and_no_other_servers(tmp_path: Path) -> None:
    with shipped(tmp_path) as (running, webhook):
        running.fire(alert("AseDown", "critical", "prod1"))
        assert webhook.wait(has("AseDown"), timeout=60)
        running.fire(
            alert("AseBlocking", "warning", "prod1"),
            alert("AseLogFilling", "critical", "prod1", database="orders"),
            alert("AseDeadlocks", "warning", "prod2"),
            # A server of the same name elsewhere, and the same one as another exporter sees it.
            alert("AseRunQueue", "warning", "prod1", datacenter="b"),
            alert("AseConnectionsNearLimit", "warning", "prod1", replica="b"),
        )
        for name in ("AseDeadlocks", "AseRunQueue", "AseConnectionsNearLimit"):
            assert webhook.wait(has(name), timeout=60)
        received = {n.name for n in webhook.notifications() if n.labels["instance"] == "prod1"}
        assert received == {"AseDown", "AseRunQueue", "AseConnectionsNearLimit"}
        running.resolve(alert("AseDown", "critical", "prod1"))
        # Inhibited alerts are sent as soon as the server is back: they had arrived and were held back.
        assert webhook.wait(has("AseBlocking"), timeout=60)


def test_a_dead_exporter_of_many_servers_is_one_notification(tmp_path: Path) -> None:
    servers = [f"prod{number}" for number in range(300)]
    # Only `up` has the label exporter, so the servers' other alerts do not.
    job = {"alertname": "AseJobDown", "severity": "critical", "job": "ase", "exporter": "a"}
    with shipped(tmp_path) as (running, webhook):
        running.fire(job)
        running.fire(*(alert("AseExporterDown", "critical", server, exporter="a") for server in servers))
        running.fire(*(alert("AseLogFilling", "critical", server, database="orders") for server in servers))
        assert webhook.wait(has("AseJobDown"), timeout=60)
        # The last alert, of another job: when it arrives, everything before it has been sent.
        running.fire(alert("AseBlocking", "warning", "other1") | {"job": "other"})
        assert webhook.wait(has("AseBlocking"), timeout=60)
        assert {each.name for each in webhook.notifications()} == {"AseJobDown", "AseBlocking"}
        # When some of its servers can be scraped again, the alerts of the others are sent.
        running.resolve(job)
        assert webhook.wait(has("AseExporterDown"), timeout=60)


def test_targets_that_vanish_together_are_one_notification(tmp_path: Path) -> None:
    with shipped(tmp_path) as (running, webhook):
        running.fire(*(alert("AseTargetVanished", "warning", f"prod{number}") for number in range(20)))
        assert webhook.wait(lambda all_of_them: len(all_of_them) >= 20, timeout=60)
        received = webhook.notifications()
        assert {str(each.group) for each in received} == {"{'alertname': 'AseTargetVanished', 'job': 'ase'}"}


def test_maintenance_inhibits_the_other_alerts_of_its_server_and_is_not_sent(tmp_path: Path) -> None:
    maintenance = alert("AseMaintenance", "none", "prod1")
    with shipped(tmp_path) as (running, webhook):
        running.fire(maintenance)
        running.fire(
            alert("AseDown", "critical", "prod1"),
            alert("AseBlocking", "warning", "prod1"),
            alert("AseDown", "critical", "prod2"),
        )
        assert webhook.wait(has("AseDown"), timeout=60)
        running.resolve(alert("AseDown", "critical", "prod1"))
        running.resolve(maintenance)
        # An inhibited alert that still fires is sent afterwards: it had arrived and was held back.
        assert webhook.wait(has("AseBlocking"), timeout=60)
        received = [(n.name, n.status, n.labels["instance"]) for n in webhook.notifications()]
        assert [each for each in received if each[2] == "prod1"] == [("AseBlocking", "firing", "prod1")]
        assert ("AseDown", "firing", "prod2") in received


def test_critical_inhibits_the_warning_of_the_same_subject_only(tmp_path: Path) -> None:
    with shipped(tmp_path) as (running, webhook):
        running.fire(
            alert("AseSpinlockContention", "critical", "prod1", spinlock="system tables cache"),
            alert("AseSpinlockContention", "warning", "prod1", spinlock="system tables cache"),
            alert("AseSpinlockContention", "warning", "prod1", spinlock="log cache"),
        )
        assert webhook.wait(lambda all_of_them: len(all_of_them) >= 2, timeout=60)
        # The last alert: when it arrives, everything before it has been sent.
        running.fire(alert("AseBlocking", "warning", "prod1"))
        assert webhook.wait(has("AseBlocking"), timeout=60)
        received = {
            (n.labels["severity"], n.labels["spinlock"])
            for n in webhook.notifications()
            if n.name == "AseSpinlockContention"
        }
        assert received == {("critical", "system tables cache"), ("warning", "log cache")}


# What happens on healthy servers, and the alert of each that is not one.
QUIET = [
    "a batch takes 70 % of the locks every night",
    "a load of 15 % of the data",
    "a log between hourly dumps, to 55 %",
    "a log between nightly dumps",
    "a new database is loaded",
    "a staging load takes 70 % of tempdb every night",
    "data is purged every night",
    "the log is dumped once a day",
]
INCIDENTS = {
    "a log fills in six hours": "AseFullSoon",
    "a suspect database": "AseDatabaseUnavailable",
    "an engine is lost": "AseEngineLost",
    "the server stops for good": "AseDown",
}
NIGHT = 14 * 3600
CRITICAL = {"AseDatabaseUnavailable", "AseDown", "AseEngineLost", "AseFullSoon"}


@pytest.mark.slow
def test_a_night_of_300_servers_pages_for_incidents_alone(tmp_path: Path) -> None:
    """What Prometheus 2.42 fired in the laboratory in the second night of each server, 1,200 times as fast."""
    fired = found()["Prometheus 2.42"]
    servers = dict(zip((f"prod{number}" for number in range(300)), cycle(QUIET), strict=False))
    servers |= {f"incident{number}": name for number, name in enumerate(INCIDENTS)}
    events = []
    for server, line in servers.items():
        begins = 0 if line in INCIDENTS else 24 * 3600
        # Time lines over days are scraped every minute, which the rules for 15 s tell.
        for name, periods in (
            (name, each) for name, each in fired[line].items() if name != "AseScrapedTooRarely"
        ):
            labels = alert(name, "critical" if name in CRITICAL else "warning", server)
            for start, end in periods:
                if begins <= start < begins + NIGHT:
                    events += [(start - begins, True, labels), (end - begins, False, labels)]
    pace = scaling.Pace(speed=1200, scrape_interval=0.05)
    with Webhook(HOST) as webhook:
        text = (
            (ALERTMANAGER / "alertmanager.yml")
            .read_text()
            .replace("127.0.0.1:10155", f"{HOST}:{webhook.port}")
        )
        with alertmanager(scaling.scaled_alertmanager(text, pace, TEMPLATES), tmp_path) as running:
            began = time.monotonic()
            for (at, fires), group in groupby(
                sorted(events, key=lambda each: each[:2]), key=lambda each: each[:2]
            ):
                time.sleep(max(0.0, began + at / pace.speed - time.monotonic()))
                (running.fire if fires else running.resolve)(*(labels for _, _, labels in group))
            running.fire(alert("AseChanged", "info", "the end"))
            assert webhook.wait(has("AseChanged"), timeout=60)
            sent = [n for n in webhook.notifications() if n.status == "firing" and n.receiver != "info"]
    pages = sorted({(n.labels["instance"], n.name, n.receiver) for n in sent})
    print(f"{len(servers)} servers, {len(pages)} alerts sent: {pages}")
    expected = {(f"incident{number}", name) for number, name in enumerate(INCIDENTS.values())}
    assert {(server, name) for server, name, receiver in pages if receiver == "critical"} == expected
    assert not [page for page in pages if page[0].startswith("prod")]


def test_a_chat_message_reads_well(tmp_path: Path) -> None:
    received: list[dict[str, Any]] = []
    arrived = threading.Event()

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            arrived.set()

    with ThreadingHTTPServer((HOST, 0), Chat) as chat:
        threading.Thread(target=chat.serve_forever, daemon=True).start()
        (tmp_path / "chat-url").write_text(f"http://{HOST}:{chat.server_address[1]}/")
        content = yaml.safe_load((ALERTMANAGER / "examples" / "chat.yml").read_text())
        content["receivers"][0]["slack_configs"][0]["api_url_file"] = str(tmp_path / "chat-url")
        content["route"]["group_wait"] = "15s"
        text = scaling.scaled_alertmanager(yaml.safe_dump(content), PACE, TEMPLATES)
        with alertmanager(text, tmp_path) as running:
            running.fire(alert("AseBlocking", "warning", "prod1"))
            assert arrived.wait(60)
        chat.shutdown()
    message = received[0]["attachments"][0]
    assert message["title"] == "prod1: 1 firing: AseBlocking"
    lines = message["text"].splitlines()
    assert lines[0] == "[warning] prod1: AseBlocking"
    assert lines[1] == "  What it means."
    assert lines[2].startswith("  since ")
    assert lines[3:] == ["  graph:   http://grafana/d/x", "  runbook: http://runbooks/x.md"]
