"""The frame of every page: its head, its style, and a policy by which browsers load nothing."""

from html import escape
from importlib import resources
from string import Template

# Colours of the verdicts of `compare`, for pages that show some.
VERDICTS = """\
.better { color: var(--good); font-weight: 600; }
.worse { color: var(--bad); font-weight: 600; }
.changed { color: var(--warn); font-weight: 600; }
"""


def document(title: str, body: str, style: str = "") -> str:
    """A complete page. title: text. body: HTML, in which text is already escaped. style: CSS beside the common one."""
    template = Template((resources.files(__package__) / "document.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body=body, style=style)
