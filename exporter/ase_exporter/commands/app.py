"""The typer application: all commands, listed, completed and run. `cli` runs `serve` without it."""

import inspect
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any

import typer

from ase_exporter.commands import serve
from ase_exporter.commands.advise import advise
from ase_exporter.commands.annotate import annotate
from ase_exporter.commands.assets import config, dashboards, mixin, rules, sql
from ase_exporter.commands.capture import capture
from ase_exporter.commands.catalogue import app as catalogue
from ase_exporter.commands.changes import changes
from ase_exporter.commands.check import check
from ase_exporter.commands.compare import compare
from ase_exporter.commands.demo import demo
from ase_exporter.commands.hugepages import hugepages
from ase_exporter.commands.mcp import mcp
from ase_exporter.commands.probe import probe
from ase_exporter.commands.report import report
from ase_exporter.commands.sysmon import app as sysmon
from ase_exporter.commands.top import top
from ase_exporter.errors import UserError

_NAME = "ase-exporter"
# typer exports no name for the base class of the errors in a command line.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    name=_NAME,
    help="Prometheus exporter for SAP ASE: shows where a database spins instead of works.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> int:
    """Run the command of sys.argv and return its exit code. Raises UserError if the command line is wrong."""
    try:
        # Not standalone: typer would print a usage error as a box of several lines.
        return app(prog_name=_NAME, standalone_mode=False) or 0
    except typer.Abort:
        return 130
    except _UsageError as error:
        message = " ".join(error.format_message().replace("Value error, ", "").split())
        if not message:
            return 2  # no command: typer has printed the help
        context = error.ctx
        command = context.command_path.removeprefix(_NAME).strip() if context else ""
        raise UserError(f"{command}: {message}" if command else message) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ase-exporter {version('ase-exporter')}")
        raise typer.Exit


@app.callback()
def _every_command(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


def _serve_command() -> Callable[..., None]:
    """`serve` as typer knows it: the options of `serve.OPTIONS` as parameters of a function."""

    def command(**values: str | bool | None) -> None:
        arguments = []
        for name, value in values.items():
            flag = serve.OPTIONS[name].flag
            if value is True:
                arguments.append(flag)
            elif isinstance(value, str):
                arguments.append(f"{flag}={value}")
        serve.serve(arguments)

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if option.metavar is None else option.default,
            annotation=_typed(option),
        )
        for name, option in serve.OPTIONS.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _typed(option: serve.Option) -> object:
    if option.metavar is None:
        return Annotated[bool, typer.Option(option.flag, help=option.help)]

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in option.choices or () if choice.startswith(incomplete)]

    return Annotated[
        str | None,
        typer.Option(option.flag, metavar=option.metavar, help=option.help, autocompletion=complete),
    ]


app.command("serve", help=serve.HELP)(_serve_command())
for each in (probe, top, check, changes, annotate, hugepages, compare, report, advise, mcp, capture, demo):
    app.command()(each)
for asset in (rules, mixin, dashboards, sql, config):
    app.command()(asset)
app.add_typer(sysmon)
app.add_typer(catalogue)
