"""The CPU flags of the database host, which decide whether transactional memory (TSX) can be used."""

import re
import socket
from pathlib import Path

from ase_exporter.errors import UserError
from ase_exporter.host.files import list_numbered, read_kernel_text
from ase_exporter.regular_files import read_text

# The name of an ASE's processes on Linux.
_ASE_PROCESS = "dataserver"
_FLAGS = re.compile(r"^(?:flags|Features)\s*:(.*)$", re.MULTILINE)


def cpu_flags(cpuinfo: Path) -> frozenset[str]:
    """The CPU flags in a copy of /proc/cpuinfo. Raises UserError if it is none."""
    try:
        text = read_text(cpuinfo)
    except OSError as error:
        raise UserError(f"--cpuinfo: {cpuinfo}: {error.strerror}") from error
    flags = _parse(text)
    if flags is None:
        raise UserError(f"--cpuinfo: {cpuinfo}: expected a copy of /proc/cpuinfo of the database host")
    return flags


def flags_of_host(host: str, procfs: str = "/proc") -> frozenset[str] | None:
    """The CPU flags of a server's host if that is this machine; None if they cannot be known.

    A local address is not enough: a tunnel or a published port may lead elsewhere. An ASE must run here, too.
    """
    if not _is_local(host) or not _runs_ase(procfs):
        return None
    return _parse(read_kernel_text(f"{procfs}/cpuinfo") or "")


def _parse(text: str) -> frozenset[str] | None:
    match = _FLAGS.search(text)
    return frozenset(match[1].split()) if match else None


def _is_local(host: str) -> bool:
    """Whether the kernel would use the host's own address to talk to it. Sends nothing."""
    try:
        addresses = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in addresses:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(address)
                if probe.getsockname()[0] == address[0]:
                    return True
        except OSError:
            continue
    return False


def _runs_ase(procfs: str) -> bool:
    return any(
        (read_kernel_text(f"{procfs}/{pid}/comm") or "").strip() == _ASE_PROCESS
        for pid in list_numbered(procfs)
    )
