"""`ase-exporter annotate`, through an exporter."""

from typing import Any

from tests.exporter.changes.grafana_standin import GrafanaStandIn
from tests.exporter.commands.command_line import Run
from tests.exporter.running_exporter import RunningExporter
from tests.programs import eventually


def regions(grafana: GrafanaStandIn) -> list[dict[str, Any]]:
    return [annotation for annotation in grafana.annotations if "timeEnd" in annotation]


def test_start_and_finish_become_one_region(
    run: Run, exporter: RunningExporter, grafana: GrafanaStandIn
) -> None:
    begun = run("annotate", "reorg", "--start", "--url", exporter.url)
    number = begun.stdout.strip()
    for _ in range(2):
        ended = run("annotate", "--finish", number, "--failed", "exit code 3", "--url", exporter.url)
        assert ended.returncode == 0
    eventually("posted", lambda: bool(regions(grafana)))
    (region,) = regions(grafana)
    assert region["timeEnd"] >= region["time"]
    assert region["text"].startswith("reorg (failed: exit code 3)") and "failed" in region["tags"]
