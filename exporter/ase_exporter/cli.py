"""Entry point of `ase-exporter`: runs the command; errors become lines on stderr and an exit code."""

import sys

from ase_exporter.errors import UserError
from ase_exporter.logs import printable


def main() -> None:
    """Run the command of sys.argv. Bad input: one line on stderr, exit code 2. Ctrl-C: exit code 130."""
    arguments = sys.argv[1:]
    try:
        if arguments[:1] == ["serve"]:
            _serve(arguments[1:])
        else:
            _other_command()
    except UserError as error:
        for line in error.lines:
            print(f"ase-exporter: {printable(line)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _serve(arguments: list[str]) -> None:
    # The server runs for months: typer and rich, and pydantic with them, would stay in its memory (10 MiB).
    from ase_exporter.commands.serve import serve

    serve(arguments)


def _other_command() -> None:
    from ase_exporter.commands.app import run

    sys.exit(run())
