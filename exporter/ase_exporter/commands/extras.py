"""What a command says if an optional part of the installation is missing."""

from ase_exporter.errors import MissingExtraError


def require_matplotlib(what: str) -> None:
    """Raises MissingExtraError if matplotlib is not installed. what: the command or option that needs it."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(f"{what} needs matplotlib", "report") from None
