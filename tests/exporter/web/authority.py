"""A certificate authority that signs server and client certificates for 127.0.0.1."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_HOUR = timedelta(hours=1)


class Authority:
    """The authority. file: its certificate (PEM); signed certificates are written next to it."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self.file = folder / f"{name}.pem"
        certificate = self._builder(name, self._key, datetime.now(UTC) + _HOUR)
        certificate = certificate.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        signed = certificate.sign(self._key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, *, expired: bool = False) -> tuple[str, str]:
        """Create a certificate for 127.0.0.1; return the paths of certificate and key."""
        key = ec.generate_private_key(ec.SECP256R1())
        end = datetime.now(UTC) + (-_HOUR if expired else _HOUR)
        alternative = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        builder = self._builder(name, key, end).add_extension(alternative, critical=False)
        certificate, key_file = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        signed = builder.sign(self._key, hashes.SHA256())
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return str(certificate), str(key_file)

    def _builder(self, name: str, key: ec.EllipticCurvePrivateKey, end: datetime) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(end - 3 * _HOUR)
            .not_valid_after(end)
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
