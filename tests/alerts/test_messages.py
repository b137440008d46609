"""Every documented message of the error log has a class, and the alert of that class alone fires for it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import pytest
from alerts.write import RULES
from tests.e2e.evaluation import evaluate_series
from tests.needs import needs_prometheus

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue, plan
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.rules.messages import messages
from ase_exporter.rules.parameters import parameters

DOCUMENTED = {
    number: severity
    for severity, numbers in load_yaml(Path(__file__).with_name("sysmessages.yaml").read_text()).items()
    for number in numbers
}
ALERTS = {"page": "critical", "ticket": "warning"}
# Numbers that a DBA would be woken for, left for the morning, or not told of, whatever the file says.
KNOWN = {
    "page": "605 694 823 926 1101 1204 1601 3414 3475 7412 7413 2509 2540 834 692 9004 3502 12315",
    "ticket": "603 1703 1526 1537 1538 1539 1597 9537 9261 7205 16149 11418 3003 3220 12034",
    "ignore": "12205 12036 12052 16343 16342 441 1205 1608 325 1803 1807 2005 975 4804 12208 14704",
}


def test_all_documented_messages_from_severity_17_on_have_a_class_and_that_severity() -> None:
    classes = messages().classes()
    assert len(DOCUMENTED) > 1700
    assert {number: classes[number][0] for number in DOCUMENTED} == DOCUMENTED
    sources = "|".join(messages().sources)
    assert all(re.search(sources, group.source) and group.action for group in messages().groups)


@pytest.mark.parametrize("who", KNOWN)
def test_what_a_dba_would_do_is_the_class(who: str) -> None:
    classes = messages().classes()
    assert {classes[int(number)][1] for number in KNOWN[who].split()} == {who}


NOW = datetime(2026, 1, 1, 12)
# A server has no other texts than these: numbers and names in quotes alone may decide.
LANGUAGES = {
    "english": "The command failed for object '{}' in database '{}', segment '{}'.",
    "french": "La commande a échoué pour l'objet « {} » de la base « {} », segment « {} ».",
}
# What messages of a number are about, if not of a table of a user, and the problem that it is.
ABOUT_SPACE = {
    ("syslogs", "orders", "logsegment"): ("log_full", "critical"),
    ("#t", "tempdb", "system"): ("tempdb_full", "warning"),
    ("trade", "orders", "default"): ("segment_full", "critical"),
}


def exported(language: str, found: Mapping[int, int]) -> Iterator[tuple[str, dict[str, str]]]:
    """Names and labels of the series that the exporter has of a server whose error log has these messages once."""
    columns = {"Time": "datetime", "ErrorNumber": "int", "Severity": "int", "ErrorMessage": "varchar"}
    facts = ServerFacts(parse_version("16.0"), tables={"monErrorLog": columns}, roles=frozenset({"mon_role"}))
    (log,) = [each for each in plan(load_catalogue()[0], facts) if each.name == "error_log"]
    rows = []
    for number, severity in found.items():
        for names in ABOUT_SPACE if number == 1105 else [("trade", "orders", "default")]:
            message = LANGUAGES[language].format(*names)
            row = {"time": NOW, "errornumber": number, "severity": severity, "errormessage": message}
            rows.append([row[column] for column in log.columns])
    for family in log.families(rows, CounterStore(), 0.0):
        for values, _ in family.samples:
            yield family.name, dict(zip(family.labels, values, strict=True), instance=language, job="ase")


@needs_prometheus
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_alert_of_its_class_alone_fires_for_each_message(language: str, tmp_path: Path) -> None:
    """All messages at once, and unlisted numbers."""
    listed = {number: severity for number, (severity, _) in messages().classes().items()}
    unlisted = {30_000 + severity: severity for severity in range(27)} | {30_099: 99}
    classes = {number: ALERTS.get(who) for number, (_, who) in messages().classes().items()}
    classes |= {
        number: "critical" if severity >= 20 else "warning" if severity >= 17 else None
        for number, severity in unlisted.items()
    }
    assert set(classes.values()) == {"critical", "warning", None}
    server = {"instance": language, "job": "ase"}
    series = [{"series": text("ase_up", server), "values": "1x100"}]
    for name, labels in exported(language, listed | unlisted):
        series.append({"series": text(name, labels), "values": "_x80 1x20"})
    query = 'ALERTS{alertname="AseErrorLogSevere"}', 21 * 60
    (found,) = evaluate_series(series, 15, tmp_path, [query], [RULES / "errors.alerts.yaml"], 60).values()
    firing = {**server, "__name__": "ALERTS", "alertname": "AseErrorLogSevere", "alertstate": "firing"}
    expected = [{**firing, "error": str(each), "severity": who} for each, who in classes.items() if who]
    expected += [{**firing, "problem": each, "severity": who} for each, who in ABOUT_SPACE.values()]
    assert Counter(frozenset(each.labels.items()) for each in found) == Counter(
        frozenset(each.items()) for each in expected
    )


def text(name: str, labels: Mapping[str, str]) -> str:
    """A series as Prometheus writes it."""
    return name + "{" + ", ".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


def test_each_number_is_listed_once_and_each_group_has_messages_with_a_cause() -> None:
    groups = messages().groups
    numbers = Counter(number for group in groups for number, _ in group.severities())
    assert [number for number, count in numbers.items() if count > 1] == []
    assert [each for each in groups if bool(each.numbers) != bool(each.cause)] == []
    assert all(each.numbers or each.messages for each in groups)


def test_patterns_match_their_numbers_and_no_others() -> None:
    page = re.compile(parameters()["messages.page"])
    matched = {number for number in range(20_000) if page.fullmatch(str(number))}
    classes = messages().classes()
    assert matched == {
        number for number, (severity, who) in classes.items() if who == "page" and severity < 20
    }
