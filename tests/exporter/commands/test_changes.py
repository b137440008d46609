"""`ase-exporter changes`: filters and output formats, from a running exporter and from its state directory."""

import json

import pytest
from tests.exporter.changes.grafana_standin import GrafanaStandIn
from tests.exporter.changes.serving import Serving
from tests.exporter.commands.command_line import Run

from ase_exporter.changes.change import Change
from ase_exporter.commands import changes


def test_changes_are_listed_in_every_format(run: Run, exporter: Serving, grafana: GrafanaStandIn) -> None:
    assert run("annotate", "a | b", "--tag", "ddl", "--url", exporter.url).returncode == 0
    assert run("annotate", "second", "--url", exporter.url).returncode == 0
    table = run("changes", "--url", exporter.url)
    assert table.returncode == 0 and "second" in table.stdout and "#ddl" in table.stdout
    as_json = json.loads(run("changes", "--url", exporter.url, "--limit", "2", "--format", "json").stdout)
    assert [change["name"] for change in as_json] == ["second", "a | b"]
    csv_lines = run("changes", "--url", exporter.url, "--format", "csv", "--text", "a |").stdout.splitlines()
    assert len(csv_lines) == 2 and csv_lines[0].startswith("seen,not before,end,target,kind")
    markdown = run(
        "changes", "--url", exporter.url, "--limit", "2", "--format", "markdown"
    ).stdout.splitlines()
    assert len(markdown) == 4 and "a \\| b" in markdown[3]
    # None may arrive within another test.
    assert exporter.wait_until(lambda: len(grafana.annotations) == 2)
    offline = run("changes", "--state-dir", str(exporter.state_directory), "--limit", "2", "--format", "json")
    assert json.loads(offline.stdout) == as_json


@pytest.mark.parametrize("width", ["60", "80", "120", "200"])
def test_no_terminal_breaks_a_word(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change = Change(
        *("id", "PROD_TRADING_1", "option", "enable in-memory row storage", "0", "1", 1.7e9, 1.7e9),
        who="dba_of_the_trading_floor",
        tags=("maintenance",),
    )
    printed = []
    for columns in (width, "10000"):
        monkeypatch.setenv("COLUMNS", columns)
        changes.print_table([change.json()])
        printed.append(capsys.readouterr().out.split())
    assert printed[0] == printed[1]
