"""The example notebook: written, run and compared here. `python -m tests.exporter.analysis.notebook` writes it anew."""

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from tests.exporter.analysis.story import SERVER, Story, stored
from tests.paths import DOCS

PATH = DOCS / "notebooks" / "contention.ipynb"
SECONDS = 300


def executed(story: Story) -> Any:
    """The notebook after a run over the story, with its outputs."""
    # Each process of the tests imports this module; one of them runs the notebook.
    from nbclient import NotebookClient

    notebook = nbformat.read(PATH, as_version=4)
    given = {
        "PROMETHEUS_URL": story.url,
        "ASE_SERVER": SERVER,
        "START": str(story.start),
        "END": str(story.end),
    }
    options: Any = {"timeout": SECONDS, "kernel_name": "python3", "extra_arguments": ["--log-level=ERROR"]}
    with patch.dict(os.environ, given):
        NotebookClient(notebook, **options).execute()
    return notebook


def stable(notebook: Any) -> Any:
    """Without what differs from run to run or from machine to machine."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            for output in cell.outputs:
                if "data" in output:
                    output.metadata = {}
                    output.data.pop("text/html", None)
                    if "image/png" in output.data:
                        output.data.pop("text/plain", None)
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def main() -> None:
    """Run the notebook and keep its outputs."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        run.mkdir()
        with stored(Path(folder), run) as story:
            PATH.write_text(nbformat.writes(stable(executed(story))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
