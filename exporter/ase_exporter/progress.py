"""The bar that long commands show."""

from rich.console import Console
from rich.progress import Progress


def progress() -> Progress:
    """A bar on standard error, where that is a terminal; it leaves nothing behind."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
