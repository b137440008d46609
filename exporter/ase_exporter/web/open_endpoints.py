"""What the endpoints of an exporter leave open, in one line each that says how to close it."""

from collections.abc import Iterator

from ase_exporter.config.web import WebSettings, is_loopback
from ase_exporter.web.write_access import WriteAccess


def open_endpoints(address: str, settings: WebSettings, access: WriteAccess) -> Iterator[str]:
    """What is open of a server that listens on an address, HOST:PORT."""
    tls = settings.tls_server_config
    asks = settings.basic_auth_users or (tls and tls.client_auth_type == "RequireAndVerifyClientCert")
    lacking = {"tls_server_config": not tls, "basic_auth_users": not asks}
    missing = " and ".join(name for name, is_missing in lacking.items() if is_missing)
    if missing and not is_loopback(address.rpartition(":")[0]):
        yield f"{address} is open to the network: set {missing} in --web.config.file"
    changing = {"--web.enable-lifecycle": access.lifecycle, "--web.enable-annotations": access.annotations}
    enabled = ", ".join(option for option, is_enabled in changing.items() if is_enabled)
    if enabled and not asks:
        yield f"{enabled}: for everybody who reaches {address}: set basic_auth_users in --web.config.file"
