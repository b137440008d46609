"""The web configuration file: TLS, users and headers of our own HTTP server, by exporter-toolkit's keys.

The file, and the certificates that it names, may change while the exporter runs: they are looked at whenever
a connection or a request comes in, and read again when they changed.
"""

import logging
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from ase_exporter.checks import Check, Strict, matching
from ase_exporter.errors import UserError

log = logging.getLogger(__name__)

# What Go calls them, in whose words exporter-toolkit's file is written, and what OpenSSL calls them.
_CIPHER_SUITES = {
    f"TLS_ECDHE_{signature}_WITH_{cipher}": f"ECDHE-{signature}-{openssl}"
    for signature in ("RSA", "ECDSA")
    for cipher, openssl in (
        ("AES_128_CBC_SHA", "AES128-SHA"),
        ("AES_256_CBC_SHA", "AES256-SHA"),
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
    )
}
_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENTS = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


def _bcrypt_hash(text: str) -> str:
    if not re.fullmatch(r"\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}", text):
        raise ValueError("expected a bcrypt hash, as `htpasswd -B` writes it")
    return text


def _known_suite(name: str) -> str:
    if name not in _CIPHER_SUITES:
        raise ValueError(f"expected one of {', '.join(_CIPHER_SUITES)}")
    return name


Version = Literal["TLS12", "TLS13"]
Suite = Annotated[str, Check(_known_suite)]
BcryptHash = Annotated[str, Check(_bcrypt_hash)]
HeaderName = Literal[
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
]
HeaderValue = Annotated[str, Check(matching(r"^[\x20-\x7e]*$"))]


@dataclass(frozen=True, kw_only=True, slots=True)
class TlsServer(Strict):
    """TLS of our server. client_ca_file: who may have signed clients' certificates.

    cipher_suites: for TLS 1.2; those of TLS 1.3 are always all on.
    """

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    client_auth_type: Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"] = (
        "NoClientCert"
    )
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: tuple[Suite, ...] = ()
    prefer_server_cipher_suites: bool = True

    def __post_init__(self) -> None:
        """ValueError if it cannot be."""
        if (self.client_ca_file is None) != (self.client_auth_type == "NoClientCert"):
            raise ValueError("expected client_ca_file and a client_auth_type that verifies, or neither")
        if self.min_version > self.max_version:
            raise ValueError("expected a min_version that is not above max_version")

    def files(self) -> dict[str, Path]:
        """The files that it is made of, by their keys."""
        named = {"cert_file": self.cert_file, "key_file": self.key_file}
        return named if self.client_ca_file is None else named | {"client_ca_file": self.client_ca_file}

    def context(self, directory: Path, source: str) -> ssl.SSLContext:
        """What to serve with. Relative paths start at `directory`; UserError names the key, and `source`."""
        files = {key: directory / path for key, path in self.files().items()}
        for key, path in files.items():
            try:
                path.open("rb").close()
            except OSError as error:
                raise UserError(f"{source}: tls_server_config.{key}: {path}: {error.strerror}") from error
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _VERSIONS[self.min_version]
        context.maximum_version = _VERSIONS[self.max_version]
        if self.prefer_server_cipher_suites:
            context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
        else:
            context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
        key = "cert_file"
        try:
            # A key with a passphrase would be asked for at the terminal.
            context.load_cert_chain(files["cert_file"], files["key_file"], password="")
            if "client_ca_file" in files:
                key = "client_ca_file"
                context.load_verify_locations(files[key])
            key = "cipher_suites"
            if self.cipher_suites:
                context.set_ciphers(":".join(map(_CIPHER_SUITES.__getitem__, self.cipher_suites)))
        except (ssl.SSLError, ValueError) as error:
            reason = getattr(error, "reason", None) or "expected PEM, and a key without a passphrase"
            raise UserError(
                f"{source}: tls_server_config.{key}: cannot be used: {str(reason).lower().replace('_', ' ')}"
            ) from error
        context.verify_mode = _CLIENTS[self.client_auth_type]
        return context


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpServer(Strict):
    """headers: sent with every answer. http2: read for the file's sake, we speak HTTP/1.1 to all."""

    http2: bool = True
    headers: Mapping[HeaderName, HeaderValue] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebSettings(Strict):
    """The whole file. basic_auth_users: names and bcrypt hashes; given, nobody else gets an answer."""

    tls_server_config: TlsServer | None = None
    http_server_config: HttpServer = field(default_factory=HttpServer)
    basic_auth_users: Mapping[str, BcryptHash] = field(default_factory=dict, repr=False)


class WebConfig:
    """The file as it is now. ok: whether it could be used when it was last read; else the old one stays."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file, if there is one. UserError if it cannot be used."""
        self._path = path
        self._settings = WebSettings()
        self._context: ssl.SSLContext | None = None
        self._seen: dict[Path, tuple[int, int, int] | None] = {}
        self.ok = True
        if path is not None:
            self._settings, self._context = self._read(path)

    def settings(self) -> WebSettings:
        """What holds now; looks first whether a file has changed."""
        if self._path is not None and any(_look(path) != seen for path, seen in self._seen.items()):
            try:
                settings, context = self._read(self._path)
                if (context is None) != (self._context is None):
                    raise UserError(f"{self._path}: tls_server_config: comes and goes by a restart only")
                self._settings, self._context, self.ok = settings, context, True
                log.info("web configuration loaded")
            except UserError as error:
                self.ok = False
                log.error("web configuration not loaded, the old one stays: %s", error)
        return self._settings

    def tls(self) -> ssl.SSLContext | None:
        """A context that serves each new connection by what holds at that time; None without TLS."""
        return None if self._context is None else _Following.of(self)

    def present_tls(self) -> ssl.SSLContext:
        """The TLS context that holds now. Only for servers that have one."""
        self.settings()
        if self._context is None:
            raise RuntimeError("this server has no TLS")
        return self._context

    def _read(self, path: Path) -> tuple[WebSettings, ssl.SSLContext | None]:
        self._seen = {path: _look(path)}
        # pydantic and YAML take 10 MiB: only for those who have such a file.
        from ase_exporter import yamlfile

        settings = yamlfile.load(path, WebSettings)
        tls = settings.tls_server_config
        if tls is None:
            return settings, None
        self._seen |= {file: _look(file) for file in map(path.parent.joinpath, tls.files().values())}
        return settings, tls.context(path.parent, str(path))


def _look(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from the one that was there before."""
    try:
        status = os.stat(path)  # noqa: PTH116  # at every request
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class _Following(ssl.SSLContext):
    """asyncio keeps one context as long as it listens: this one asks for the present one each time."""

    _web: WebConfig

    @classmethod
    def of(cls, web: WebConfig) -> Self:
        """A context for the server of that configuration."""
        context = cls(ssl.PROTOCOL_TLS_SERVER)
        context._web = web
        return context

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """The server's side of one connection."""
        return self._web.present_tls().wrap_bio(*arguments, **options)
