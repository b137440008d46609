"""A certificate authority that signs server and client certificates for 127.0.0.1."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_HOUR = timedelta(hours=1)


class Authority:
    """The authority. file: its certificate (PEM); signed certificates are written next to it."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = self._certify(name, self._key, x509.BasicConstraints(ca=True, path_length=None), _HOUR)

    def sign(self, name: str, *, expired: bool = False) -> tuple[str, str]:
        """Create a certificate for 127.0.0.1; return the paths of certificate and key."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        certificate = self._certify(name, key, address, -_HOUR if expired else _HOUR)
        file = self._folder / f"{name}.key"
        file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return str(certificate), str(file)

    def _certify(
        self, name: str, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType, left: timedelta
    ) -> Path:
        """Write a certificate that is valid for that long from now; its path."""
        end = datetime.now(UTC) + left
        builder = x509.CertificateBuilder(
            _named(self._name),
            _named(name),
            key.public_key(),
            x509.random_serial_number(),
            end - 3 * _HOUR,
            end,
        )
        signed = builder.add_extension(extension, critical=name == self._name).sign(
            self._key, hashes.SHA256()
        )
        file = self._folder / f"{name}.pem"
        file.write_bytes(signed.public_bytes(Encoding.PEM))
        return file


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
