"""The TLS context of the HTTP server, made of the settings of the web configuration file."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from ase_exporter.config.web import CIPHER_SUITES, TlsServer
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_bytes

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY_MODES = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


def server_context(settings: TlsServer, file: Path) -> ssl.SSLContext:
    """The context for these settings of that file. Raises UserError, which names the file and the key."""
    paths = settings.files(file.parent)
    for key, path in paths.items():
        try:
            read_bytes(path)
        except OSError as error:
            raise UserError(f"{file}: tls_server_config.{key}: {path}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[settings.min_version]
    context.maximum_version = _VERSIONS[settings.max_version]
    if settings.prefer_server_cipher_suites:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    key = "cert_file"
    try:
        # Without a password, OpenSSL would ask at the terminal for that of an encrypted key.
        context.load_cert_chain(paths["cert_file"], paths["key_file"], password="")
        if "client_ca_file" in paths:
            key = "client_ca_file"
            context.load_verify_locations(paths[key])
        key = "cipher_suites"
        if settings.cipher_suites:
            context.set_ciphers(":".join(CIPHER_SUITES[suite] for suite in settings.cipher_suites))
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "expected PEM, and a key without a passphrase"
        raise UserError(
            f"{file}: tls_server_config.{key}: cannot be used: {str(reason).lower().replace('_', ' ')}"
        ) from error
    context.verify_mode = _VERIFY_MODES[settings.client_auth_type]
    return context


class ReloadingContext(ssl.SSLContext):
    """A context that serves each new connection with the current one of a function.

    asyncio keeps one context as long as it listens.
    """

    _current: Callable[[], ssl.SSLContext]

    @classmethod
    def of(cls, current: Callable[[], ssl.SSLContext]) -> Self:
        """The context that delegates to the current one."""
        context = cls(ssl.PROTOCOL_TLS_SERVER)
        context._current = current
        return context

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """Start the server's side of one connection."""
        return self._current().wrap_bio(*arguments, **options)
