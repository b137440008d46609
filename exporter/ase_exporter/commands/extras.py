"""Whether an optional part of the installation is there."""

from importlib import import_module

from ase_exporter.errors import MissingExtraError


def require(module: str, extra: str, what: str, instead: str = "") -> None:
    """Raises MissingExtraError, with `what` and `instead`, if the module of an extra is not installed."""
    try:
        import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(what, extra, instead) from None


def require_matplotlib(what: str) -> None:
    """Raises MissingExtraError if matplotlib is not installed. what: the command or option that needs it."""
    require("matplotlib", "report", f"{what} needs matplotlib")
