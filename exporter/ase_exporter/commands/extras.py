"""What a command says if an optional part of the installation is missing."""

from ase_exporter.errors import UserError


def require_matplotlib(what: str) -> None:
    """Raises UserError if matplotlib is not installed. what: the command or option that needs it."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise UserError(
            f"{what} needs matplotlib, which is not installed: pip install 'ase-exporter[report]'"
        ) from None
