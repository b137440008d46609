"""The progress bar of long commands."""

from rich.console import Console
from rich.progress import Progress


def progress() -> Progress:
    """A progress bar on stderr, if that is a terminal; it is removed at the end."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
