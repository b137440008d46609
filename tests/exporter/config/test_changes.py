"""Settings that are wrong are named where they stand."""

from pathlib import Path

import pytest

from ase_exporter.config import Config
from ase_exporter.config.yaml_files import parse
from ase_exporter.errors import UserError

GRAFANA = "changes:\n  grafana:\n    url: {url}\n    token_file: /etc/token\n    {more}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("changes: {interval: 0s}", "config.yaml:1: changes.interval: "),
        ("changes: {retention: 1m}", "config.yaml:1: changes.retention: "),
        ("changes: {intervall: 60s}", "config.yaml:1: changes.intervall: unknown key"),
        (GRAFANA.format(url="grafana:3000", more=""), "config.yaml:3: changes.grafana.url: expected an http"),
        (GRAFANA.format(url="http://me:pass@host", more=""), "config.yaml:3: changes.grafana.url: expected"),
        (GRAFANA.format(url="http://host", more="timeout: 0s"), "config.yaml:5: changes.grafana.timeout: "),
        (
            GRAFANA.format(url="http://host", more="ca_file: /nonexistent.pem"),
            "config.yaml:5: changes.grafana.ca_file: expected a PEM file of certificates: No such file",
        ),
        ("changes: {grafana: {url: http://host}}", "config.yaml:1: changes.grafana.token_file: "),
    ],
)
def test_a_wrong_setting_is_named(text: str, expected: str) -> None:
    with pytest.raises(UserError) as error:
        parse(text, Config, "config.yaml")
    assert str(error.value).startswith(expected)
    assert "pass@" not in str(error.value)


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    text = GRAFANA.format(url="https://host", more=f"ca_file: {tmp_path / 'ca.pem'}")
    with pytest.raises(UserError, match="expected a PEM file of certificates"):
        parse(text, Config, "config.yaml")
