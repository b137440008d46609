"""The typer application: all commands, listed, completed and run. `cli` runs `serve` without it."""

import inspect
import os
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Annotated, Any

import typer

from ase_exporter.errors import UserError

_NAME = "ase-exporter"
# typer exports no name for the base class of the errors in a command line.
_UsageError: Any = typer.BadParameter.__base__

# Command: module, where the module is not named like it, and what the list of commands says. A module is imported only
# if its command is asked for: all of them take a second.
_COMMANDS = {
    "serve": ("", "Serve metrics over HTTP until SIGTERM or Ctrl-C."),
    "probe": ("", "Scrape one target and print its metrics; counters are the server's own values."),
    "top": (
        "",
        "Watch servers in the terminal, without Prometheus: do they work or spin, and on which spinlock?",
    ),
    "check": (
        "",
        "List what targets do not let the exporter read, the metrics this costs, and the SQL that fixes it.",
    ),
    "changes": ("", "List what changed: settings, caches, engines, restarts, the machine, and annotations."),
    "annotate": ("", "Put an annotation on every graph."),
    "hugepages": (
        "",
        "Compute the huge pages that a database requires, show the settings, and check this host.",
    ),
    "compare": ("", "Compare a server before and after a change, over several runs, or with another server."),
    "report": (
        "",
        "Write one HTML page on a week of a server: worst hours, changes and their effect, alerts, advice,"
        " forecasts.",
    ),
    "advise": (
        "",
        "Watch a server and advise on its hot spinlocks: SQL statements, the arithmetic, the predicted effect.",
    ),
    "mcp": (
        "",
        "Answer the questions of an assistant (Model Context Protocol on standard input and output), read-only.",
    ),
    "capture": (
        "",
        "Record what a server answers to the exporter, for tests and reports: see docs/capture.md.",
    ),
    "demo": (
        "",
        "Replay the Memscale case study on loopback: simulated ASE, exporter, Prometheus, Alertmanager.",
    ),
    "rules": (
        "assets",
        "Write the recording and alerting rules for Prometheus, for your scrape interval and thresholds.",
    ),
    "mixin": (
        "assets",
        "Write rules and dashboards as a Jsonnet mixin: mixin.libsonnet and what it imports.",
    ),
    "dashboards": ("assets", "Write the dashboards for Grafana, as JSON."),
    "sql": ("assets", "Write the SQL scripts: create the login, enable monitoring."),
    "config": (
        "assets",
        "Write the default configuration files: exporter.yaml for servers, host.yaml for the machine.",
    ),
    "sysmon": ("", "Read and compare sp_sysmon reports of any version, or run sp_sysmon."),
    "catalogue": ("", "Print the metrics reference; validate custom metrics."),
}
# Those that have commands of their own.
_GROUPS = ("sysmon", "catalogue")


def build(loaded: Collection[str]) -> typer.Typer:
    """The application with these commands; the others are listed only."""
    made = typer.Typer(
        name=_NAME,
        help="Prometheus exporter for SAP ASE: shows where a database spins instead of works.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_every_command)
    for name, (module, text) in _COMMANDS.items():
        if name not in loaded:
            made.command(name, help=text)(_not_loaded)
            continue
        imported = import_module(f"ase_exporter.commands.{module or name}")
        if name in _GROUPS:
            made.add_typer(imported.app)
        elif name == "serve":
            made.command(name, help=text)(_serve_command())
        else:
            made.command(name)(getattr(imported, name))
    return made


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = whole = build(_COMMANDS)
    return whole


def run() -> int:
    """Run the command of sys.argv and return its exit code. Raises UserError if the command line is wrong."""
    completing = "_ASE_EXPORTER_COMPLETE" in os.environ
    app = build(_COMMANDS if completing else _COMMANDS.keys() & set(sys.argv[1:]))
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
        from importlib.metadata import version

        print(f"ase-exporter {version('ase-exporter')}")
        raise typer.Exit


def _not_loaded() -> None:
    raise AssertionError("a command was run that is only listed")


def _every_command(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


def _serve_command() -> Callable[..., None]:
    """`serve` as typer knows it: the options of `serve.OPTIONS` as parameters of a function."""
    from ase_exporter.commands import serve

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


def _typed(option: Any) -> object:
    if option.metavar is None:
        return Annotated[bool, typer.Option(option.flag, help=option.help)]

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in option.choices or () if choice.startswith(incomplete)]

    return Annotated[
        str | None,
        typer.Option(option.flag, metavar=option.metavar, help=option.help, autocompletion=complete),
    ]
