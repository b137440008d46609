"""The webhook receiver hands on Alertmanager's notifications."""

import httpx2
import pytest

from ase_simulator.demo.processes import HOST
from ase_simulator.demo.webhook import receiving

MESSAGE = {
    "groupLabels": {"instance": "prod1"},
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "A", "instance": "one"},
            "annotations": {"summary": "a"},
        },
        {"status": "resolved", "labels": {"alertname": "B"}, "annotations": {"summary": "b"}},
    ],
}


def test_each_alert_of_a_message_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with receiving(HOST, 0) as port:
        url = f"http://{HOST}:{port}/critical"
        assert httpx2.post(url, json=MESSAGE, trust_env=False, timeout=60).status_code == 200
    assert capsys.readouterr().out == "critical firing A one\ncritical resolved B \n"


def test_an_invalid_body_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with receiving(HOST, 0) as port:
        answer = httpx2.post(f"http://{HOST}:{port}/", content=b"[1]", trust_env=False, timeout=60)
    assert (answer.status_code, capsys.readouterr().out) == (400, "")
