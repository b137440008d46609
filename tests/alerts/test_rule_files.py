"""The rule files are up to date, and alerts.write refuses parameters that would make rules that never work."""

import re
from pathlib import Path

import pytest
from alerts import write
from tests.paths import REPOSITORY

from ase_exporter.rules.definitions import DEFINITIONS, rule_files, with_hysteresis
from ase_exporter.rules.parameters import DefinitionError, changed, parameters, ratios

DIAGNOSIS = REPOSITORY / "exporter" / "ase_exporter" / "diagnosis"


def test_rule_files_are_up_to_date() -> None:
    for name, text in rule_files(parameters()):
        assert (write.RULES / name).read_text() == text, f"{name} is stale: make generate"


def test_every_alert_file_comes_from_a_definition() -> None:
    made = {name for name, _ in rule_files(parameters()) if name.endswith(".alerts.yaml")}
    assert {path.name for path in write.RULES.glob("*.alerts.yaml")} == made


def test_every_parameter_is_used() -> None:
    used = set().union(*(write.placeholders(path) for path in DEFINITIONS.glob("*.yaml")))
    # The diagnosis names them without brackets, or is a pattern.
    findings = (DIAGNOSIS / "findings.yaml").read_text()
    sources = "".join(path.read_text() for path in DIAGNOSIS.glob("*.py"))
    used |= {name for name in parameters() if re.search(rf"\b{re.escape(name)}\b", findings + sources)}
    unused = {name for name in parameters() if not name.startswith(("links.", "fleet."))} - used
    assert not unused


def test_every_ratio_is_a_parameter() -> None:
    assert parameters().keys() >= ratios()


def test_settings_take_percentages() -> None:
    assert changed(["data_cache=15%", "space.warning=0.8"]) == {
        "spinlock.cache_warning": "0.15",
        "space.warning": "0.8",
    }


def test_a_limit_with_hysteresis_is_left_clearly_below_it() -> None:
    rules = {"expr": "a > ~space.warning~", "alert": "A", "severity": "warning"}
    fires = 'ALERTS{alertname="A", alertstate="firing", severity="warning"}'
    stays = f"(a > 0.85)\nand ignoring (alertname, alertstate, severity)\n{fires}"
    assert with_hysteresis(rules, parameters()) == f"(a > 0.9)\nor\n{stays}"
    for limit, left in (
        ("> ~spinlock.critical~", "> 0.4"),
        (">= ~locks.blocked_critical~", ">= 16"),
        ("< ~cpu.throughput_share~", "< 0.9375"),
    ):
        assert f"({left})" in with_hysteresis(rules | {"stays": limit}, parameters())
    assert with_hysteresis(rules | {"expr": "a > 1"}, parameters()) == "a > 1"


def test_own_parameters_name_only_what_differs(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("links: {runbooks: https://wiki/ase}\nspinlock: {critical: 0.6}\n")
    values = parameters(own)
    assert values == parameters() | {"links.runbooks": "https://wiki/ase", "spinlock.critical": "0.6"}
    text = dict(rule_files(values))["spinlocks.alerts.yaml"]
    assert "runbook_url: https://wiki/ase/AseSpinlockContention.md" in text


@pytest.mark.parametrize(
    "text",
    [
        "spinlock: {critical: 1}",
        "spinlock: {warning_for: 90s, critical_for: 1h30m}",
        "log: {backup_exempt: 'tempdb.*|model'}",
        "device: {latency_seconds: 2.5}",
    ],
)
def test_own_parameters_of_the_right_kind_are_taken(tmp_path: Path, text: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text)
    assert parameters(own) != parameters()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spinlock: {critcal: 0.6}", "spinlock.critcal: no such parameter"),
        ("- 0.6", "expected groups of parameters"),
        ("spinlock: 0.6", "expected groups of parameters"),
        ("spinlock: {critical: 0.6", "line 1: not valid YAML"),
        ("spinlock: {warning_for: lots}", "spinlock.warning_for: 'lots': expected a duration such as 5m"),
        ("spinlock: {warning_for: 10}", "spinlock.warning_for: 10: expected a duration such as 5m"),
        ("spinlock: {warning_for: -1m}", "spinlock.warning_for: '-1m': expected a duration such as 5m"),
        ("spinlock: {critical: 10}", "spinlock.critical: 10: expected a ratio from 0 to 1"),
        ("spinlock: {critical: -1}", "spinlock.critical: -1: expected a ratio from 0 to 1"),
        ("spinlock: {critical: lots}", "spinlock.critical: 'lots': expected a ratio from 0 to 1"),
        ("spinlock: {critical: true}", "spinlock.critical: True: expected a ratio from 0 to 1"),
        ("space: {warning: 0.98}", "space.warning 0.98 is over space.critical 0.97"),
        ("locks: {blocked_warning: 30}", "locks.blocked_warning 30 is over locks.blocked_critical 20"),
        (
            "spinlock: {descriptor_warning: 0.6}",
            "spinlock.descriptor_warning 0.6 is over spinlock.critical 0.5",
        ),
        ("device: {latency_seconds: -1}", "device.latency_seconds: -1: expected a number, 0 or more"),
        ("device: {latency_seconds: .nan}", "device.latency_seconds: nan: expected a number, 0 or more"),
        ("device: {latency_seconds: 3s}", "device.latency_seconds: '3s': expected a number, 0 or more"),
        ("links: {grafana: 3000}", "links.grafana: 3000: expected text without spaces or quotes"),
        ("log: {backup_exempt: 'a\"b'}", "expected text without spaces or quotes"),
    ],
)
def test_bad_parameters_get_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text)
    with pytest.raises(DefinitionError, match=re.escape(message)):
        parameters(own)
    assert run("--parameters", own, "--to", tmp_path / "rules") == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert str(own) in said.err
    assert not (tmp_path / "rules").exists()


def run(*arguments: str | Path) -> int | str | None:
    """Run `python -m alerts.write` and return its exit code."""
    try:
        write.main([str(each) for each in arguments])
    except SystemExit as end:
        return end.code
    return 0


def test_rules_written_elsewhere_are_a_complete_set(tmp_path: Path) -> None:
    to = tmp_path / "etc" / "rules"
    assert run("--to", to) == 0
    assert {path.name: path.read_text() for path in to.iterdir()} == {
        path.name: path.read_text() for path in write.RULES.glob("*.yaml")
    }
    assert run("--to", to, "--check") == 0
    (to / "cpu.rules.yaml").unlink()
    assert run("--to", to, "--check") == 1


def test_a_directory_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run("--to", tmp_path / "file") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_table_of_alerts_has_severities_and_conditions() -> None:
    assert (
        "| [AseBlocking](AseBlocking.md) | warning, critical | tasks wait for locks " in write.alert_table()
    )
