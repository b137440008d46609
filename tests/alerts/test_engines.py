"""Every unit test of every rule in Prometheus 3 and in VictoriaMetrics; `make lint` has Debian's promtool."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.paths import REPOSITORY

TESTS = sorted((REPOSITORY / "alerts" / "tests").glob("*.test.yaml"))
# Go module, package, version, build tags: this one leaves out service discovery, which is most of Prometheus.
PROGRAMS = {
    "promtool": ("github.com/prometheus/prometheus", "cmd/promtool", "v0.315.0", "remove_all_sd"),
    "vmalert-tool": ("github.com/VictoriaMetrics/VictoriaMetrics", "app/vmalert-tool", "v1.110.0", ""),
}
# Test files that fail in an engine, and what it does otherwise.
DIFFERENT = {
    (
        "vmalert-tool",
        "AseSpinlockContention",
    ): "it fires some evaluations later: each sees what was recorded before it",
    ("vmalert-tool", "AseEnginesSaturated"): "it fires an evaluation later, for the same reason",
    ("vmalert-tool", "AseJobDown"): "so does this one, which reads ALERTS: in the shipped groups after 30 s",
    ("vmalert-tool", "changes_rules"): "the baseline is kept an evaluation later, for the same reason",
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", params=PROGRAMS)
def tool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program: the one in the directory that LABORATORY_TOOLS names, or built from its Go module."""
    name: str = request.param
    module, package, version, tags = PROGRAMS[name]
    found = Path(os.environ.get("LABORATORY_TOOLS", "/nonexistent")) / name
    if found.exists():
        return found
    directory = tmp_path_factory.mktemp("tool")
    (directory / "go.mod").write_text("module tool\n\ngo 1.24\n")
    program = directory / name
    get = ["go", "get", "-tool", f"{module}/{package}@{version}"]
    build = ["go", "build", f"-tags={tags}", "-o", str(program), f"{module}/{package}"]
    for command in (get, build):
        try:
            done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip(f"no {name}, and no go to build it with")
        if done.returncode:
            pytest.skip(f"{name} cannot be built: {done.stderr[-300:]}")
    return program


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.removesuffix(".test.yaml"))
def test_rules_do_the_same_in_other_engines(tool: Path, path: Path, tmp_path: Path) -> None:
    different = DIFFERENT.get((tool.name, path.name.removesuffix(".test.yaml")))
    text = path.read_text().replace("../rules/", f"{path.parents[1] / 'rules'}/")
    copy = tmp_path / path.name
    command: list[str | Path] = [tool, "test", "rules", copy]
    if tool.name == "vmalert-tool":
        # It calls one of the keys by a name of its own.
        text = text.replace("promql_expr_test:", "metricsql_expr_test:")
        command = [tool, "unittest", "--disableAlertgroupLabel", f"--files={copy}"]
    copy.write_text(text)
    # vmalert-tool listens on port 8880, so that one runs at a time, and stores samples in the temporary directory.
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(tmp_path)})
    assert (done.returncode != 0) == bool(different), different or done.stdout + done.stderr
