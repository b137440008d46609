"""Progress of long commands. Only they import it: rich.progress is a fifth of the start of any other command."""

from rich.progress import Progress

from ase_exporter.untrusted.terminal import PlainConsole


def progress_bar() -> Progress:
    """A progress bar on stderr, if that is a terminal; it is removed at the end."""
    console = PlainConsole(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
