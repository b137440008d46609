"""The pages about metrics: the reference is up to date, the example is valid, and what is named exists."""

import re
from dataclasses import fields
from pathlib import Path

from tests.paths import DOCS
from typer.testing import CliRunner

from ase_exporter.catalogue.model import UNITS, Collector, Label, Metric
from ase_exporter.commands.app import build

CUSTOM = DOCS / "custom-metrics.md"


def test_the_example_passes_the_check_that_the_page_recommends(tmp_path: Path) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", CUSTOM.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "example.yaml").write_text(examples[1])
    file = tmp_path / "exporter.yaml"
    file.write_text(f"catalogue: {{directories: [{tmp_path}/metrics]}}")
    result = CliRunner().invoke(build(), ["check", "--offline", f"--config.file={file}"])
    assert result.exit_code == 0 and result.output.startswith(f"{file}: 0 targets, ")


def test_the_page_describes_every_key() -> None:
    text = CUSTOM.read_text(encoding="utf-8").partition("## All keys")[2]
    described = set(re.findall(r"`([a-z_]+)`", text))
    keys = {field.name for model in (Collector, Metric, Label) for field in fields(model)}
    assert keys - described == set()
    assert set(UNITS) - {"none"} <= set(re.findall(r"`([\w ]+)`", text))
