"""The typer application: all commands, listed, completed and run.

To add a command, add a line to COMMANDS and write its module. The module has the name of the command, with `_` for
`-`, and in it a function of that name or, if the command has commands of its own, a typer application `app`.
"""

import inspect
import os
import sys
from collections.abc import Collection
from importlib import import_module
from typing import Annotated, Any

import typer

from ase_exporter.commands.options import refuse_password
from ase_exporter.errors import UserError

_NAME = "ase-exporter"
# typer exports no name for the base class of the errors in a command line.
_UsageError: Any = typer.BadParameter.__base__


class _InOrder(typer.core.TyperGroup):
    """Lists commands in the order of COMMANDS, whether they are loaded or not."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in COMMANDS if name in self.commands]


# What the list of commands says, and the first paragraph of each command's help: its function's docstring follows.
COMMANDS = {
    "serve": "Serve metrics over HTTP until SIGTERM or Ctrl-C.",
    "setup": "Configure a server: test its login, give the SQL it needs, write all files, show where its time goes.",
    "probe": "Scrape one target and print its metrics; counters are the server's own values.",
    "top": "Watch servers in the terminal, without Prometheus: do they work or spin, and on which spinlock?",
    "check": "Check permissions and settings; list the metrics each gap costs and the SQL to fix it.",
    "changes": "List what changed: settings, caches, engines, restarts, the machine, and annotations.",
    "annotate": "Put an annotation on every graph.",
    "hugepages": "Compute the huge pages that a database requires, show the settings, and check this host.",
    "compare": "Compare a server before and after a change, over several runs, or with another server.",
    "report": "Write one HTML page on a week of a server: worst hours, changes and their effect, alerts, advice,"
    " forecasts.",
    "advise": "Suggest SQL to relieve hot spinlocks, with the expected effect.",
    "mcp": "Answer an assistant's questions over the Model Context Protocol on stdin and stdout, read-only.",
    "capture": "Record what a server answers to the exporter, for tests and reports: see docs/capture.md.",
    "demo": "Replay the Memscale case study on loopback: simulated ASE, exporter, Prometheus, Alertmanager.",
    "rules": "Write the recording and alerting rules for Prometheus, for your scrape interval and thresholds.",
    "mixin": "Write rules and dashboards as a Jsonnet mixin: mixin.libsonnet and what it imports.",
    "dashboards": "Write the dashboards for Grafana, as JSON.",
    "sql": "Write the SQL scripts: create the login, enable monitoring.",
    "config": "Write the default configuration files: exporter.yaml for servers, host.yaml for the machine.",
    "sysmon": "Read and compare sp_sysmon reports of any version, or run sp_sysmon.",
    "catalogue": "Print the metrics reference; validate custom metrics.",
}
# Commands that share a module.
_MODULES = dict.fromkeys(("rules", "mixin", "dashboards", "sql", "config"), "assets")


def build(loaded: Collection[str] = COMMANDS.keys()) -> typer.Typer:
    """The application with these commands. The others are only listed: to import all of them takes a second."""
    made = typer.Typer(
        name=_NAME,
        cls=_InOrder,
        help="Prometheus exporter for SAP ASE: shows where a database spins instead of works.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_every_command)
    for name, text in COMMANDS.items():
        if name in loaded:
            _add(made, name, text)
        else:
            made.command(name, help=text)(_not_loaded)
    return made


def _add(made: typer.Typer, name: str, text: str) -> None:
    attribute = name.replace("-", "_")
    module = import_module(f"ase_exporter.commands.{_MODULES.get(name, attribute)}")
    if hasattr(module, "app"):
        made.add_typer(module.app, name=name, help=text)
        return
    function = getattr(module, attribute)
    made.command(name, help="\n\n".join(filter(None, (text, inspect.getdoc(function)))))(function)


def run() -> int:
    """Run the command of sys.argv and return its exit code. Raises UserError if the command line is wrong."""
    refuse_password(sys.argv[1:])
    # The command line that a shell completes is in one of these variables, depending on the shell.
    completed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    app = build(COMMANDS.keys() & {*sys.argv[1:], *completed.split()})
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
