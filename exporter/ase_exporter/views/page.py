"""HTML pages: Jinja2 templates over one base, in which every value is escaped, and views as such pages."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ase_exporter.views.figures import counted, duration, minute, moment, short, shown
from ase_exporter.views.view import View

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_FILTERS = {each.__name__: each for each in (counted, duration, minute, moment, short, shown)}


def page(view: View) -> str:
    """A view as a page that loads nothing."""
    return render("view.html", title=view.title, parts=view.parts)


def render(template: str, *, refresh: int = 0, **values: object) -> str:
    """A page. template: a file's name in `templates`. Every value but the SVG of charts is escaped.

    refresh: seconds after which a browser loads it again; 0 for never.
    """
    return _environment().get_template(template).render(values, refresh=refresh)


@cache
def _environment() -> "Environment":
    # Imported here: the process that serves metrics does without Jinja2 until somebody opens a page.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(_FILTERS)
    return environment
