"""Every documented message of the error log has a class, and the alert of that class alone fires for it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from alerts.write import RULES

from ase_exporter.assets import load_yaml
from ase_exporter.config import yaml_files
from ase_exporter.errors import UserError
from ase_exporter.rules.messages import Messages, messages
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


def _expected(number: int, severity: int) -> str | None:
    who = messages().classes().get(number, (0, "page" if severity >= 20 else "ticket"))[1]
    return ALERTS.get(who)


def test_the_alert_of_its_class_alone_fires_for_each_message(tmp_path: Path) -> None:
    """promtool over all messages at once, and over unlisted numbers; the server's language does not matter."""
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian: prometheus)")
    listed = {number: severity for number, (severity, _) in messages().classes().items()}
    unlisted = {30_000 + severity: severity for severity in range(27)} | {30_099: 99}
    found = listed | unlisted
    expected = {number: _expected(number, severity) for number, severity in found.items()}
    expected |= {number: None for number, severity in unlisted.items() if severity < 17}
    labels = 'instance="prod1", job="ase"'
    series = [{"series": f"ase_up{{{labels}}}", "values": "1x100"}]
    for number, severity in found.items():
        name = f'ase_error_log_messages_total{{{labels}, error="{number}", severity="{severity}"}}'
        series.append({"series": name, "values": "_x80 1x20"})
    query = 'ALERTS{alertname="AseErrorLogSevere"}'
    samples = [
        {
            "labels": f'ALERTS{{alertname="AseErrorLogSevere", alertstate="firing", error="{number}", {labels}, '
            f'severity="{severity}"}}',
            "value": 1,
        }
        for number, severity in expected.items()
        if severity
    ]
    test = {
        "rule_files": [str(RULES / "server.alerts.yaml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "15s",
                "input_series": series,
                "promql_expr_test": [{"expr": query, "eval_time": "21m", "exp_samples": samples}],
            }
        ],
    }
    file = tmp_path / "all.test.yaml"
    file.write_text(yaml.safe_dump(test))
    result = subprocess.run(
        ["promtool", "test", "rules", file], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[-2000:]


@pytest.mark.parametrize(
    ("group", "error"),
    [
        (
            "{about: a, who: page, source: s, action: b, messages: {1: [17, c], 605: [21, d]}}",
            "listed twice: 605",
        ),
        ("{about: a, who: nobody, source: s, action: b, messages: {1: [17, c]}}", "who"),
        ("{about: a, who: page, source: s, action: b, messages: {1: [27, c]}}", "26"),
        (
            "{about: a, who: page, source: s, action: b, numbers: {17: [1]}}",
            "expected both cause and numbers",
        ),
        ("{about: a, who: page, source: s, action: b}", "expected messages or numbers"),
        ("{about: a, who: page, source: s, action: b, mesages: {1: [17, c]}}", "mesages"),
    ],
)
def test_a_list_that_is_wrong_is_refused(tmp_path: Path, group: str, error: str) -> None:
    good = "{about: a, who: page, source: s, action: b, messages: {605: [21, c]}}"
    file = tmp_path / "messages.yaml"
    file.write_text(f"sources: {{s: t}}\ngroups:\n- {good}\n- {group}\n")
    with pytest.raises(UserError, match=error):
        yaml_files.load_shipped(file, Messages)


def test_patterns_match_their_numbers_and_no_others() -> None:
    page = re.compile(parameters()["messages.page"])
    matched = {number for number in range(20_000) if page.fullmatch(str(number))}
    classes = messages().classes()
    assert matched == {
        number for number, (severity, who) in classes.items() if who == "page" and severity < 20
    }
