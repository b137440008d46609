"""The example notebook runs over a simulated server's past, and its committed outputs are those of a run."""

import base64
import io
from typing import Any

import nbformat
import numpy as np
import pytest
from tests.exporter.analysis.notebook import PATH, executed, stable
from tests.exporter.analysis.story import GUILTY, HOTTEST, Story

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
# Of a pixel's range, on average: another build of the fonts may move an edge.
SAME_PICTURE = 0.01
MAX_BYTES = 100_000


def outputs(notebook: Any) -> tuple[list[str], list[Any]]:
    """All text that the cells print or show, and all pictures."""
    import matplotlib.image

    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    texts = [output.get("text") or output["data"].get("text/plain", "") for output in shown]
    pictures = [
        matplotlib.image.imread(io.BytesIO(base64.b64decode(output["data"]["image/png"])))
        for output in shown
        if "image/png" in output.get("data", {})
    ]
    return texts, pictures


def test_the_notebook_has_the_outputs_of_a_run(story: Story) -> None:
    texts, pictures = outputs(stable(executed(story)))
    committed_texts, committed_pictures = outputs(nbformat.read(PATH, as_version=4))
    hint = "run: python -m tests.exporter.analysis.notebook"
    assert texts == committed_texts, hint
    assert len(pictures) == len(committed_pictures) == 2
    for picture, committed in zip(pictures, committed_pictures, strict=True):
        assert picture.shape == committed.shape, hint
        assert np.abs(picture - committed).mean() < SAME_PICTURE, hint


def test_the_notebook_is_small_and_names_the_guilty_change() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert len(text) < MAX_BYTES
    notebook = nbformat.read(PATH, as_version=4)
    nbformat.validate(notebook)
    texts, _ = outputs(notebook)
    (table,) = (text for text in texts if "verdict" in text)
    worse = [line for line in table.splitlines() if line.rstrip().endswith("worse")]
    assert len(worse) == 3
    assert HOTTEST in text and f"`{GUILTY}` made the server spin" in text
    # No path, address or time of the machine that wrote it.
    assert "127.0.0.1:" not in text.replace("http://127.0.0.1:9090", "")
