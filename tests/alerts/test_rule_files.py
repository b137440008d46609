"""The rule files of the alerts are what definitions and parameters make."""

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
