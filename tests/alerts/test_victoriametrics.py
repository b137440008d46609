"""Every unit test of every rule, run by vmalert-tool: VictoriaMetrics' query language differs from PromQL."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.paths import REPOSITORY

TESTS = sorted((REPOSITORY / "alerts" / "tests").glob("*.test.yaml"))
MODULE = "github.com/VictoriaMetrics/VictoriaMetrics"
VERSION = "v1.110.0"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> str:
    """vmalert-tool: the one on PATH, or built from its Go module."""
    if found := shutil.which("vmalert-tool"):
        return found
    if not shutil.which("go"):
        pytest.skip("no vmalert-tool, and no go to build it with")
    directory = tmp_path_factory.mktemp("tool")
    (directory / "go.mod").write_text("module tool\n\ngo 1.24\n")
    program = directory / "vmalert-tool"
    package = f"{MODULE}/app/vmalert-tool"
    for command in (["get", "-tool", f"{package}@{VERSION}"], ["build", "-o", str(program), package]):
        done = subprocess.run(["go", *command], cwd=directory, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"vmalert-tool cannot be built: {done.stderr[-300:]}")
    return str(program)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.removesuffix(".test.yaml"))
def test_rules_do_the_same_in_victoriametrics(tool: str, path: Path, tmp_path: Path) -> None:
    # It calls one of the keys by a name of its own.
    text = path.read_text().replace("promql_expr_test:", "metricsql_expr_test:")
    text = text.replace("../rules/", f"{path.parents[1] / 'rules'}/")
    copy = tmp_path / path.name
    copy.write_text(text)
    command = [tool, "unittest", "--disableAlertgroupLabel", f"--files={copy}"]
    # It listens on a port of its own choosing and stores its samples in the directory for temporary files.
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
