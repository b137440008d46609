"""The block of ports that the demo uses."""

import socket

import pytest

from ase_exporter.demo.ports import HOST, Ports
from ase_exporter.errors import UserError


def test_a_busy_port_is_named_with_its_process() -> None:
    with socket.socket() as busy:
        busy.bind((HOST, 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(UserError, match=rf"port {port} \(for the exporter\) is not free.*--port-base"):
            Ports.from_base(port)


@pytest.mark.parametrize("base", [-1, 0, 80, 65530, 70000])
def test_an_invalid_base_is_rejected(base: int) -> None:
    with pytest.raises(UserError, match="expected 1024 to"):
        Ports.from_base(base)
