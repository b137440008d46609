"""`ase-exporter compare`: one server before and after a change, or over several runs."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ase_exporter.commands.options import progress_bar, require, write_output
from ase_exporter.errors import UserError
from ase_exporter.untrusted.terminal import PlainConsole

if TYPE_CHECKING:
    from ase_exporter.compare.comparison import Comparison

Format = Literal["terminal", "json", "html"]

FILE_WIDTH = 80


def compare(
    prometheus: str,
    target: str,
    before: str | None = None,
    after: str | None = None,
    change: str | None = None,
    runs: str | None = None,
    length: float = 1800.0,
    settle: float = 60.0,
    measure: list[str] | None = None,
    exporter: str | None = None,
    selector: str = "",
    everything: bool = False,
    form: Format = "terminal",
    output: Path | None = None,
) -> None:
    if form == "html" and output is None:
        raise UserError("--format html: expected a file with --output")
    require("numpy", "compare", "compare needs numpy")
    from ase_exporter.compare.report import terminal
    from ase_exporter.compare.request import Request, answer

    request = Request(
        prometheus=prometheus,
        target=target,
        selector=selector,
        exporter=exporter,
        before=before,
        after=after,
        change=change,
        runs=runs,
        length=length,
        settle=settle,
        measures=measure,
    )
    with progress_bar() as bar:
        task = bar.add_task("Querying Prometheus", total=None)
        result = answer(
            request,
            lambda title, done, total: bar.update(task, description=title, completed=done, total=total),
        )
    if form == "terminal" and output is None:
        PlainConsole().print(terminal(result, everything=everything))
    elif output is None:
        print(as_text(result, form), end="")
    else:
        write_output(output, as_text(result, form, everything=everything))


def as_text(result: "Comparison", form: Format, *, everything: bool = False) -> str:
    """The comparison in a format. everything: as text, also the measures without evidence of a difference."""
    from ase_exporter.compare.html import comparison_page
    from ase_exporter.compare.report import as_json, terminal

    match form:
        case "terminal":
            text = io.StringIO()
            PlainConsole(file=text, width=FILE_WIDTH).print(terminal(result, everything=everything))
            return text.getvalue()
        case "json":
            return as_json(result)
        case "html":
            return comparison_page(result)
