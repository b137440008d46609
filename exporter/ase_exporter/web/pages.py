"""HTML pages: templates that share one style sheet."""

from pathlib import Path
from string import Template


def page(template: Path, **values: str) -> str:
    """The template with its values filled in. Values are HTML: text must already be escaped."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    return Template(template.read_text(encoding="utf-8")).substitute(values, style=style)
