"""Certificates of one machine: an authority of its own, the servers', and the custodian's.

They are made at the first start and go with the folder. Whoever holds the authority's key can
pretend to be anybody: it is used here and written nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from deploy.kafka.runtime import HOST

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Certificates", "make_certificates"]

_LIFE: Final = timedelta(days=30)
_SKEW: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where the certificates of a folder lie, all of them in PEM.

    Args:
        folder: that nobody but its owner may enter.
    """

    folder: Path

    @property
    def authority(self) -> Path:
        """What everybody trusts; public."""
        return self.folder / "ca.pem"

    def certificate(self, name: str) -> Path:
        """Return the certificate of ``server`` or ``custodian``; public."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Return its key."""
        return self.folder / f"{name}.key"

    def both(self, name: str) -> Path:
        """Return its key and certificate in one file, as Kafka reads them."""
        return self.folder / f"{name}.pem"


def make_certificates(folder: Path) -> Certificates:
    """Return the certificates of a folder, which are made where there are none.

    Args:
        folder: is made where it is missing.
    """
    made = Certificates(folder)
    if made.authority.exists():
        return made
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _signed("tocsin", key.public_key(), _name("tocsin"), key)
    for name, usage in (
        ("server", ExtendedKeyUsageOID.SERVER_AUTH),
        ("custodian", ExtendedKeyUsageOID.CLIENT_AUTH),
    ):
        own = ec.generate_private_key(ec.SECP256R1())
        signed = _signed(name, own.public_key(), authority.subject, key, usage)
        _write(made.key(name), _private(own))
        _write(made.certificate(name), _pem(signed))
        _write(made.both(name), _private(own) + _pem(signed))
    _write(made.authority, _pem(authority))  # the last one: with it, all are there
    return made


def _signed(
    name: str,
    key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    by: ec.EllipticCurvePrivateKey,
    usage: x509.ObjectIdentifier | None = None,
) -> x509.Certificate:
    """Return a certificate; an authority's where it is for nothing else."""
    now = datetime.now(UTC)
    begun = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=usage is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False
        )
    )
    if usage is None:
        begun = begun.add_extension(_of_an_authority(), critical=True)
    else:
        places = [x509.DNSName("localhost"), x509.IPAddress(ip_address(HOST))]
        begun = begun.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        begun = begun.add_extension(x509.SubjectAlternativeName(places), critical=False)
    return begun.sign(by, hashes.SHA256())


def _of_an_authority() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
