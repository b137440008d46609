"""The example of docs/custom-metrics.md is a good file."""

import re
from pathlib import Path

from typer.testing import CliRunner

from ase_exporter.cli import app

PAGE = Path(__file__).parents[3] / "docs" / "custom-metrics.md"


def test_the_example_passes_the_check_that_the_page_recommends(tmp_path: Path) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "example.yaml").write_text(examples[1])
    result = CliRunner().invoke(app, ["catalogue", "validate", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, "2 collectors are good\n")
