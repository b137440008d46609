"""The rule files are up to date, and settings that would make rules that never work are refused."""

import re

import pytest
from alerts import write
from tests.alerts.shipped import RULES
from tests.paths import REPOSITORY

from ase_exporter.rules.definitions import rule_files, with_hysteresis
from ase_exporter.rules.parameters import DEFINITIONS, changed, parameters, ratios

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


def test_settings_of_the_right_kind_are_taken_and_percentages_become_ratios() -> None:
    taken = {
        "space.warning": "0.8",
        "spinlock.critical": "1",
        "spinlock.warning_for": "90s",
        "spinlock.critical_for": "1h30m",
        "log.backup_exempt": "tempdb.*|model",
        "device.latency_seconds": "2.5",
    }
    settings = [f"{name}={value}" for name, value in taken.items()]
    assert changed(["data_cache=15%", *settings]) == {"spinlock.cache_warning": "0.15", **taken}


def test_a_limit_with_hysteresis_is_left_clearly_below_it() -> None:
    rules = {"expr": "a > ~space.warning~", "alert": "A", "severity": "warning"}
    fires = 'ALERTS{alertname="A", alertstate="firing", severity="warning"}'
    stays = f"(a > 0.85)\nand ignoring (alertgroup, alertname, alertstate, severity)\n{fires}"
    assert with_hysteresis(rules, parameters()) == f"(a > 0.9)\nor\n{stays}"
    for limit, left in (
        ("> ~spinlock.critical~", "> 0.4"),
        (">= ~locks.blocked_critical~", ">= 16"),
        ("< ~cpu.throughput_share~", "< 0.9375"),
    ):
        assert f"({left})" in with_hysteresis(rules | {"stays": limit}, parameters())
    assert with_hysteresis(rules | {"expr": "a > 1"}, parameters()) == "a > 1"


def test_the_written_files_are_compared_with_those_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> int | str | None:
        with pytest.raises(SystemExit) as ended:
            write.main(["--check"])
        return ended.value.code

    assert check() == 0
    monkeypatch.setattr(write, "message_table", lambda: "stale")
    assert check() == 1


def test_what_alerts_say_has_each_severity_once() -> None:
    said = re.findall(r"^\| \[(\w+)\]\(runbooks/\w+\.md\) \| (\w+) \| .", write.first_lines(), re.MULTILINE)
    rules = {(rule["alert"], rule["labels"]["severity"]) for rule in RULES if "alert" in rule}
    assert sorted(said) == sorted(each for each in rules if each[1] != "none")


def test_the_table_of_alerts_has_severities_and_conditions() -> None:
    assert (
        "| [AseBlocking](AseBlocking.md) | warning, critical | tasks wait for locks " in write.alert_table()
    )
