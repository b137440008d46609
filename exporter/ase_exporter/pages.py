"""Our HTML pages: templates that share one style."""

from pathlib import Path
from string import Template


def page(template: Path, **values: str) -> str:
    """A template filled in; what is no markup in the values must be escaped already."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return Template(template.read_text(encoding="utf-8")).substitute(values, style=style)
