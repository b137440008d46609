"""`ase-exporter compare`: one server before and after a change, or over several runs."""

import json
from pathlib import Path
from typing import Literal

import typer

from ase_exporter.commands.options import (
    changes_url,
    defaults,
    recorded_server,
    require,
    require_output,
    write_output,
)
from ase_exporter.errors import UserError
from ase_exporter.views import terminal
from ase_exporter.views.page import page
from ase_exporter.views.plain import as_json

Format = Literal["terminal", "json", "html"]


def compare(
    prometheus: str | None = None,
    target: str | None = None,
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
    config_file: Path | None = None,
) -> None:
    if form == "html" and output is None:
        raise UserError("--format html: expected a file with --output")
    require_output(output)
    require("numpy", "compare", "compare needs numpy")
    from ase_exporter.compare.prometheus import Prometheus
    from ase_exporter.compare.request import Request, answer
    from ase_exporter.compare.view import comparison_data, comparison_view

    loaded = defaults(config_file, prometheus, target, exporter)
    url, name = recorded_server(prometheus, target, loaded)
    request = Request(
        target=name,
        selector=selector,
        exporter=changes_url(exporter, loaded),
        before=before,
        after=after,
        change=change,
        runs=runs,
        length=length,
        settle=settle,
        measures=measure,
    )
    with Prometheus(url) as server:
        result = answer(server, request)
    view = comparison_view(result, everything=everything)
    match form:
        case "terminal":
            text = terminal.text(view)
        case "json":
            text = json.dumps(as_json(comparison_data(result)), indent=2, allow_nan=False) + "\n"
        case "html":
            text = page(view)
    if output is not None:
        write_output(output, text)
    elif form == "terminal":
        terminal.print_view(view)
    else:
        print(text, end="")
    if not result.is_known:
        raise typer.Exit(1)
