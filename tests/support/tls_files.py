"""Certificates made for one test: an authority, the holders of its certificates, and the properties that name them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

if TYPE_CHECKING:
    from pathlib import Path

STORE_PASSWORD = "store-secret"  # noqa: S105 - of stores that a test makes


@dataclass(eq=False)
class Authority:
    """Signs certificates; its own is the trusted one."""

    ca: trustme.CA = field(default_factory=lambda: trustme.CA(key_type=trustme.KeyType.ECDSA))

    @property
    def certificate(self) -> str:
        return self.ca.cert_pem.bytes().decode()

    def issue(self, *names: str, common_name: str | None = None, unit: str | None = None) -> trustme.LeafCert:
        return self.ca.issue_cert(
            *(names or ("127.0.0.1", "localhost")),
            common_name=common_name,
            organization_unit_name=unit,
            key_type=trustme.KeyType.ECDSA,
        )

    def trusting(self) -> dict[str, str]:
        """Return the properties that trust this authority."""
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": self.certificate}


def having(leaf: trustme.LeafCert) -> dict[str, str]:
    """Return the properties with this certificate, as inline PEM."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": leaf.private_key_pem.bytes().decode(),
        "ssl.keystore.certificate.chain": chain(leaf),
    }


def chain(leaf: trustme.LeafCert) -> str:
    return "".join(blob.bytes().decode() for blob in leaf.cert_chain_pems)


def pem_file(leaf: trustme.LeafCert, path: Path) -> Path:
    """Write key and certificates to one file."""
    path.write_bytes(leaf.private_key_and_cert_chain_pem.bytes())
    return path


def pkcs12_file(leaf: trustme.LeafCert, path: Path, password: str = STORE_PASSWORD) -> Path:
    """Write key and certificates as a key store."""
    certificates = x509.load_pem_x509_certificates(chain(leaf).encode())
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    protection = BestAvailableEncryption(password.encode())
    path.write_bytes(serialize_key_and_certificates(b"kafka", key, certificates[0], certificates[1:], protection))
    return path


def one_line(pem: str) -> str:
    """Return PEM on one line, as in a properties file."""
    return " ".join(pem.split("\n")).strip()
