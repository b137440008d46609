"""Views as a terminal of 80 columns shows them."""

from io import StringIO

from ase_exporter.untrusted.terminal import PlainConsole
from ase_exporter.views.terminal import printable
from ase_exporter.views.view import View


def printed(view: View) -> str:
    written = StringIO()
    PlainConsole(file=written, width=80).print(printable(view))
    return written.getvalue()
