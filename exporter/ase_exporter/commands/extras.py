"""What a command says if an optional part of the installation is missing."""

from importlib.util import find_spec

from ase_exporter.errors import UserError


def require(module: str, extra: str, needs: str, otherwise: str = "") -> None:
    """Raises UserError if the module of an extra is not installed.

    needs: what needs what, as the message begins. otherwise: what works without it, in brackets behind the message.
    """
    if find_spec(module) is None:
        remark = f" ({otherwise})" if otherwise else ""
        raise UserError(f"{needs}, which is not installed: pip install 'ase-exporter[{extra}]'{remark}")


def require_matplotlib(what: str) -> None:
    """Raises UserError if matplotlib is not installed. what: the command or option that needs it."""
    require("matplotlib", "report", f"{what} needs matplotlib")
