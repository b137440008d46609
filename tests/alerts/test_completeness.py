"""Every alert has a runbook, a test in which it fires and one in which it does not."""

import re
from typing import Any

import pytest
import typer
from dashboards import coverage, write
from tests.alerts.shipped import ALERTS, NAMES, RULES, content

from ase_exporter.assets import load_yaml
from ase_exporter.commands.app import build
from ase_exporter.rules.definitions import own_rule_files
from ase_exporter.rules.limits import Thresholds

# Their runbooks have queries at hand. The server knows nothing of what is wrong with the last three.
CRITICAL = sorted({rule["alert"] for rule in RULES if rule.get("labels", {}).get("severity") == "critical"})
OF_THE_EXPORTER = {"AseExporterDown", "AseJobDown", "AseRulesFailing"}

RECORDED = {rule["record"] for rule in RULES if "record" in rule}


def written(alert: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = content(ALERTS / "tests" / f"{alert}.test.yaml")["tests"]
    return found


@pytest.mark.parametrize("alert", NAMES)
def test_every_alert_has_a_test_that_fires_one_that_does_not_and_one_that_resolves(alert: str) -> None:
    outcomes = [[bool(check["exp_alerts"]) for check in test["alert_rule_test"]] for test in written(alert)]
    assert any(not any(outcome) for outcome in outcomes), (
        f"alerts/tests/{alert}.test.yaml: add a test in which it stays quiet"
    )
    assert any(outcome[-3:] == [False, True, False] for outcome in outcomes), (
        f"alerts/tests/{alert}.test.yaml: add a test in which it is quiet, fires, and is quiet again"
    )


@pytest.mark.parametrize("alert", NAMES)
def test_every_severity_of_an_alert_is_tested(alert: str) -> None:
    severities = {rule["labels"]["severity"] for rule in RULES if rule.get("alert") == alert}
    checks = [check for test in written(alert) for check in test["alert_rule_test"]]
    fired = [each for check in checks if check["alertname"] == alert for each in check["exp_alerts"]]
    tested = {each["exp_labels"]["severity"] for each in fired}
    assert tested == severities, f"alerts/tests/{alert}.test.yaml: test each severity"


@pytest.mark.parametrize("alert", NAMES)
def test_alerts_on_rates_are_tested_against_counters_that_start_again(alert: str) -> None:
    text = (ALERTS / "tests" / f"{alert}.test.yaml").read_text()
    if "_total{" in text:
        assert "starts again from zero" in text or "start again from zero" in text, (
            f"alerts/tests/{alert}.test.yaml: add a test called '… starts again from zero', in which a counter of "
            "the rule falls and the alert stays quiet"
        )


@pytest.mark.parametrize("alert", NAMES)
def test_every_alert_has_a_runbook_that_says_what_it_means_the_steps_and_when_it_is_over(alert: str) -> None:
    text = (ALERTS / "runbooks" / f"{alert}.md").read_text()
    assert re.fullmatch(
        rf"# {alert}\n\n[A-Z`].*?\n\n1\. .+?^Resolved: .{{8,}}\.\n", text, re.DOTALL | re.MULTILINE
    ), f"alerts/runbooks/{alert}.md: title, meaning, steps with numbers, and `Resolved: …`"


@pytest.mark.parametrize("alert", CRITICAL)
def test_every_critical_alert_has_queries_for_prometheus_and_for_isql(alert: str) -> None:
    text = (ALERTS / "runbooks" / f"{alert}.md").read_text()
    assert "```promql" in text
    assert "```sql" in text or alert in OF_THE_EXPORTER


@pytest.fixture(scope="module")
def command_line() -> Any:
    """Not made when the module is imported, which each process of pytest-xdist does."""
    return typer.main.get_command(build())


# A command, if one shows it, and the beginning of a dashboard's title with a panel of it.
SHOWN_BY = re.compile(r"^See (?:`ase-exporter ([^`]+)`(?: \([^)]*\))?; )?([^:`]+): (.+)\.$", re.MULTILINE)


@pytest.mark.parametrize("alert", NAMES)
def test_every_runbook_names_command_and_panel_that_show_the_cause(alert: str, command_line: Any) -> None:
    text = (ALERTS / "runbooks" / f"{alert}.md").read_text()
    (found,) = SHOWN_BY.findall(text)
    words, title, panel = found
    command = command_line
    for word in words.split():
        if hasattr(command, "commands"):
            command = command.commands[word]
        elif word.startswith("--"):
            assert any(word in option.opts for option in command.params), words
    (board,) = (each for each in write.DASHBOARDS if each["title"].startswith(title))
    shown = {each["title"].partition(" (good")[0].partition(":")[0] for each in board["panels"]}
    assert panel.partition(":")[0] in shown, f"{title} has no panel {panel}"


def test_every_runbook_and_every_alert_test_is_an_alerts() -> None:
    pages = sorted(path.stem for path in (ALERTS / "runbooks").glob("*.md"))
    assert pages == [*NAMES, "README"], "make generate; or a runbook has no alert of its name"
    tested = {path.name.removesuffix(".test.yaml") for path in (ALERTS / "tests").iterdir()}
    assert sorted(name for name in tested if not name.endswith("_rules")) == NAMES


def test_every_recorded_series_has_a_test_of_its_value() -> None:
    asked = {
        name
        for path in (ALERTS / "tests").glob("*_rules.test.yaml")
        for test in content(path)["tests"]
        for check in test["promql_expr_test"]
        if check["exp_samples"]
        for name in re.findall(r"[a-z_]+:\w+:\w+", check["expr"])
    }
    assert asked >= RECORDED, "add a promql_expr_test of each to an alerts/tests/*_rules.test.yaml"


def test_every_rule_says_what_it_is() -> None:
    for rule in (rule for rule in RULES if "alert" in rule):
        assert rule["labels"]["severity"] in {"none", "info", "warning", "critical"}
        subject = "job" if rule["alert"] == "AseJobDown" else "instance"
        named = f"{{{{ $labels.{subject} }}}}"
        assert named in rule["annotations"]["summary"], f"{rule['alert']}: its summary must have {named}"
        assert set(rule["annotations"]) == {"summary", "description"}, "no link leads nowhere"
    described = content(ALERTS / "recorded.yaml").keys()
    assert described == RECORDED, "alerts/recorded.yaml: describe each series, and no other"
    # level:metric:operation
    assert all(re.fullmatch(r"(ase|dbhost):[a-z0-9_]+:[a-z0-9_]+", name) for name in RECORDED)


# AseMaintenance notifies nobody: it only mutes other alerts. The metric of AseRulesFailing is one of Prometheus itself.
LINKED = sorted(set(NAMES) - {"AseMaintenance", "AseRulesFailing"})


@pytest.fixture(scope="module")
def rules_with_links() -> list[dict[str, Any]]:
    links = Thresholds({"links.grafana": "https://grafana", "links.runbooks": "https://wiki"})
    files = own_rule_files(links).values()
    return [rule for text in files for group in load_yaml(text)["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("alert", LINKED)
def test_every_alert_links_to_a_dashboard_that_shows_a_metric_of_it(
    alert: str, rules_with_links: list[dict[str, Any]]
) -> None:
    rules = [rule for rule in rules_with_links if rule.get("alert") == alert]
    assert rules
    for rule in rules:
        pattern = r"https://grafana/d/([a-z-]+)\?var-(\w+)={{ \$labels.(?:instance|job) }}"
        ((uid, variable),) = re.findall(f"^{pattern}$", rule["annotations"]["dashboard_url"])
        dashboard = next(each for each in write.DASHBOARDS if each["uid"] == uid)
        shown = {name for name, uids in coverage.used_by_dashboards([dashboard]).items() if uids}
        assert shown & coverage.names([rule["expr"]]), (
            f"{alert}: its group's `dashboard` shows none of its metrics: add a panel or name another one"
        )
        assert variable in {each["name"] for each in dashboard["templating"]["list"]}
        assert (variable == "host") == alert.startswith("DbHost")
        assert rule["annotations"]["runbook_url"] == f"https://wiki/{alert}.md"
