"""The rule files of the alerts are what definitions and parameters make."""

from pathlib import Path

import pytest
from alerts import write


def test_rule_files_are_up_to_date() -> None:
    for name, text in write.rule_files(write.parameters()):
        assert (write.RULES / name).read_text() == text, f"{name} is stale: make alerts"


def test_every_alert_file_comes_from_a_definition() -> None:
    made = {name for name, _ in write.rule_files(write.parameters())}
    assert {path.name for path in write.RULES.glob("*.alerts.yaml")} == made


def test_every_parameter_is_used() -> None:
    used = set().union(*(write.placeholders(path) for path in write.DEFINITIONS.glob("*.yaml")))
    unused = {name for name in write.parameters() if not name.startswith("links.")} - used
    assert not unused


def test_parameters_of_your_own_name_only_what_differs(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("links: {runbooks: https://wiki/ase}\nspinlock: {critical: 0.6}\n")
    values = write.parameters(own)
    assert values == write.parameters() | {"links.runbooks": "https://wiki/ase", "spinlock.critical": "0.6"}
    text = dict(write.rule_files(values))["spinlocks.alerts.yaml"]
    assert "runbook_url: https://wiki/ase/AseSpinlockContention.md" in text


@pytest.mark.parametrize("text", ["spinlock: {critcal: 0.6}", "- 0.6", "spinlock: 0.6"])
def test_parameters_that_do_not_exist_are_named(tmp_path: Path, text: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text)
    with pytest.raises(write.DefinitionError, match=r"own\.yaml: "):
        write.parameters(own)
