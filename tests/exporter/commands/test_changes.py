"""`ase-exporter changes`: filters and output formats, from a running exporter and from its state directory."""

import json

from tests.exporter.changes.grafana_standin import GrafanaStandIn
from tests.exporter.changes.serving import Serving
from tests.exporter.commands.command_line import Run


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
