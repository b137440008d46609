"""Command-line options that are durations."""

from typing import Any

import typer

from ase_exporter.config.times import parse_duration
from ase_exporter.errors import UserError


def duration_option(name: str, **settings: Any) -> Any:
    """A `typer.Option` whose value is seconds, from text such as 90, 90s, 30m or 1h30m.

    settings: of `typer.Option`. A bad value is a UserError that names the option.
    """

    def parse(value: str | float) -> float:
        # Defaults are parsed, too, and are seconds already.
        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(value)
        except ValueError as error:
            raise UserError(f"{name}: {value!r}: {error}") from None

    return typer.Option(name, parser=parse, metavar="DURATION", **settings)
