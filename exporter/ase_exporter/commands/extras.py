"""Whether an optional part of the installation is there."""

from importlib.util import find_spec

from ase_exporter.errors import MissingExtraError


def require(module: str, extra: str, what: str, instead: str = "") -> None:
    """Raises MissingExtraError, with `what` and `instead`, if the module of an extra is not installed."""
    if find_spec(module) is None:
        raise MissingExtraError(what, extra, instead)


def require_matplotlib(what: str) -> None:
    """Raises MissingExtraError if matplotlib is not installed. what: the command or option that needs it."""
    require("matplotlib", "report", f"{what} needs matplotlib")
