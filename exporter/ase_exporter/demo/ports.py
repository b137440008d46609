"""The demo's loopback ports: one consecutive block, checked to be free before anything starts."""

import socket
from dataclasses import asdict, dataclass, fields
from typing import Self

from ase_exporter.errors import UserError

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """Port of each process on 127.0.0.1."""

    exporter: int
    simulator: int
    prometheus: int
    alertmanager: int
    node_exporter: int
    webhook: int
    grafana: int

    @classmethod
    def from_base(cls, base: int) -> Self:
        """Assign consecutive ports from `base`. Raises UserError if one is invalid or in use."""
        count = len(fields(cls))
        if not 1024 <= base <= 65536 - count:
            raise UserError(f"demo: --port-base {base}: expected 1024 to {65536 - count}")
        ports = cls(*range(base, base + count))
        for user, port in asdict(ports).items():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError as error:
                    taken = f"port {port} (for the {user}) is not free: {error.strerror}"
                    raise UserError(f"demo: {taken}; move all with --port-base") from None
        return ports
