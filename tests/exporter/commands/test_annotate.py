"""`ase-exporter annotate`: through an exporter, and around commands."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from tests.exporter.changes.grafana_standin import GrafanaStandIn
from tests.exporter.changes.serving import Serving
from tests.exporter.commands.command_line import Run
from tests.paths import REPOSITORY
from tests.programs import eventually


def regions(grafana: GrafanaStandIn) -> list[dict[str, Any]]:
    return [annotation for annotation in grafana.annotations if "timeEnd" in annotation]


def test_a_text_becomes_one_annotation(run: Run, exporter: Serving, grafana: GrafanaStandIn) -> None:
    result = run("annotate", "Started ALTER", "--tag", "ddl", "--url", exporter.url)
    assert (result.returncode, result.stdout) == (0, "Annotation posted.\n"), result.stderr
    eventually("posted", lambda: len(grafana.annotations) == 1)
    (posted,) = grafana.annotations
    assert posted["text"].startswith("Started ALTER, by ")
    assert {"ase-exporter", "annotation", "ddl"} < set(posted["tags"])
    assert abs(posted["time"] / 1000 - time.time()) < 60


def test_start_and_finish_become_one_region(run: Run, exporter: Serving, grafana: GrafanaStandIn) -> None:
    begun = run("annotate", "reorg", "--start", "--url", exporter.url)
    number = begun.stdout.strip()
    assert run("annotate", "--finish", number, "--url", exporter.url).returncode == 0
    assert run("annotate", "--finish", number, "--url", exporter.url).returncode == 0
    eventually("posted", lambda: bool(regions(grafana)))
    (region,) = regions(grafana)
    assert region["timeEnd"] >= region["time"]


@pytest.mark.parametrize(
    ("script", "code", "failed"),
    [
        ("print('out')", 0, ""),
        ("print('out'); sys.exit(3)", 3, " (failed: exit code 3)"),
        ("print('out', flush=True); os.kill(os.getpid(), signal.SIGKILL)", 128 + 9, " (failed: signal 9)"),
    ],
)
def test_a_command_is_a_region_and_its_exit_code_and_output_are_kept(
    run: Run, exporter: Serving, grafana: GrafanaStandIn, script: str, code: int, failed: str
) -> None:
    command = [sys.executable, "-c", f"import os, signal, sys; print('err', file=sys.stderr); {script}"]
    result = run("annotate", "--run", "reorg trades", "--url", exporter.url, "--", *command)
    assert (result.returncode, result.stdout, result.stderr) == (code, "out\n", "err\n")

    def posted() -> list[dict[str, Any]]:
        # What was finished twice before may be posted now.
        return [each for each in regions(grafana) if each["text"].startswith(f"reorg trades{failed}")]

    eventually("posted", lambda: bool(posted()))
    (region,) = posted()
    assert ("failed" in region["tags"]) == bool(failed)


def test_a_command_runs_even_if_the_exporter_is_down(run: Run) -> None:
    result = run(
        "annotate", "--run", "x", "--url", "http://127.0.0.1:9", "--", sys.executable, "-c", "exit(4)"
    )
    assert result.returncode == 4
    assert "not annotated: http://127.0.0.1:9/annotations" in result.stderr


@pytest.mark.parametrize(("command", "code"), [("/nonexistent/command", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_run_has_the_exit_code_of_a_shell(run: Run, command: str, code: int) -> None:
    result = run("annotate", "--run", "x", "--url", "http://127.0.0.1:9", "--", command)
    assert result.returncode == code


def test_sigterm_reaches_the_command_and_the_region_still_ends(
    exporter: Serving, grafana: GrafanaStandIn
) -> None:
    script = "import time; print('up', flush=True); time.sleep(60)"
    marked = [sys.executable, "-m", "ase_exporter", "annotate", "--run", "load", "--url", exporter.url]
    process = subprocess.Popen(
        [*marked, "--", sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": "exporter"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    process.stdout.close()
    eventually("posted", lambda: bool(regions(grafana)))
