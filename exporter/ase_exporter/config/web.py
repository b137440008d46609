"""Settings of the web configuration file: TLS, headers and users, in the format of Prometheus's exporter-toolkit."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from ase_exporter.config.fields import Strict, Validator, matching

# By the names that exporter-toolkit, a Go library, has for them: OpenSSL's names.
CIPHER_SUITES = {
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


def _cipher_suite(name: str) -> str:
    if name not in CIPHER_SUITES:
        raise ValueError(f"expected one of {', '.join(CIPHER_SUITES)}")
    return name


TlsVersion = Literal["TLS12", "TLS13"]
ClientAuthType = Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"]
CipherSuite = Annotated[str, Validator(_cipher_suite)]
_BCRYPT = r"\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}"
BcryptHash = Annotated[str, Validator(matching(_BCRYPT, "a bcrypt hash, as `htpasswd -B` writes it"))]
HeaderName = Literal[
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
]
HeaderValue = Annotated[str, Validator(matching(r"[\x20-\x7e]*", "printable ASCII characters"))]


@dataclass(frozen=True, kw_only=True, slots=True)
class TlsServer(Strict):
    """tls_server_config. Relative paths start at the directory of the file.

    client_ca_file: authorities that may sign client certificates.
    cipher_suites: for TLS 1.2 only; TLS 1.3 always offers all of its suites.
    """

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    client_auth_type: ClientAuthType = "NoClientCert"
    min_version: TlsVersion = "TLS12"
    max_version: TlsVersion = "TLS13"
    cipher_suites: tuple[CipherSuite, ...] = ()
    prefer_server_cipher_suites: bool = True

    def __post_init__(self) -> None:
        if (self.client_ca_file is None) != (self.client_auth_type == "NoClientCert"):
            raise ValueError("expected client_ca_file and a client_auth_type that verifies, or neither")
        if self.min_version > self.max_version:
            raise ValueError("expected a min_version that is not above max_version")

    def files(self, directory: Path) -> dict[str, Path]:
        """The files that it names, by key."""
        named = {
            "cert_file": self.cert_file,
            "key_file": self.key_file,
            "client_ca_file": self.client_ca_file,
        }
        return {key: directory / path for key, path in named.items() if path is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpServer(Strict):
    """http_server_config. headers: sent with every response. http2: accepted for compatibility, without effect."""

    http2: bool = True
    headers: Mapping[HeaderName, HeaderValue] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebSettings(Strict):
    """The whole file. basic_auth_users: bcrypt hashes by user name; without any, no authentication is asked for."""

    tls_server_config: TlsServer | None = None
    http_server_config: HttpServer = field(default_factory=HttpServer)
    basic_auth_users: Mapping[str, BcryptHash] = field(default_factory=dict, repr=False)


def is_loopback(host: str) -> bool:
    """Whether nobody on the network reaches a host. An empty one is every address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
