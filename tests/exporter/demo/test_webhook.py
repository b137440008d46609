"""The webhook receiver keeps Alertmanager's notifications."""

import httpx2

from ase_exporter.demo.webhook import Webhook

MESSAGE = {
    "groupLabels": {"instance": "prod1"},
    "alerts": [
        {"status": "firing", "labels": {"alertname": "A"}, "annotations": {"summary": "a"}},
        {"status": "resolved", "labels": {"alertname": "B"}, "annotations": {"summary": "b"}},
    ],
}


def test_each_alert_of_a_message_is_kept_and_shown_on_arrival() -> None:
    shown: list[list[str]] = []
    with Webhook("127.0.0.1", show=lambda alerts: shown.append([each.name for each in alerts])) as webhook:
        url = f"http://127.0.0.1:{webhook.port}/critical"
        assert httpx2.post(url, json=MESSAGE, trust_env=False, timeout=60).status_code == 200
        kept = [(each.receiver, each.status, each.name) for each in webhook.notifications()]
    assert kept == [("critical", "firing", "A"), ("critical", "resolved", "B")]
    assert shown == [["A", "B"]]


def test_an_invalid_body_is_rejected() -> None:
    with Webhook("127.0.0.1") as webhook:
        answer = httpx2.post(f"http://127.0.0.1:{webhook.port}/", content=b"[1]", trust_env=False, timeout=60)
        assert answer.status_code == 400
        assert webhook.notifications() == []
