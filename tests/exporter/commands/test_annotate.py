"""`ase-exporter annotate`, through an exporter."""

import time
from typing import Any

from tests.exporter.changes.grafana_standin import GrafanaStandIn
from tests.exporter.commands.command_line import Run
from tests.exporter.running_exporter import RunningExporter
from tests.programs import eventually


def regions(grafana: GrafanaStandIn) -> list[dict[str, Any]]:
    return [annotation for annotation in grafana.annotations if "timeEnd" in annotation]


def test_a_text_becomes_one_annotation(run: Run, exporter: RunningExporter, grafana: GrafanaStandIn) -> None:
    result = run("annotate", "Started ALTER", "--tag", "ddl", "--url", exporter.url)
    assert (result.returncode, result.stdout) == (0, "Annotation posted.\n"), result.stderr
    eventually("posted", lambda: len(grafana.annotations) == 1)
    (posted,) = grafana.annotations
    assert posted["text"].startswith("Started ALTER, by ")
    assert {"ase-exporter", "annotation", "ddl"} < set(posted["tags"])
    assert abs(posted["time"] / 1000 - time.time()) < 60


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
