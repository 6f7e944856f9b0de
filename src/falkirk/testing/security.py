"""What a secured test cluster needs: a certificate authority, a node's certificate, users, and their properties."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from falkirk.testing.errors import ClusterError

if TYPE_CHECKING:
    from pathlib import Path

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISM: Final = "PLAIN"
USERNAME: Final = "tester"
PASSWORD: Final = "tester-secret"  # noqa: S105 - of clusters that live as long as a test
_NODE: Final = ("node", "node-secret")
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_ADDRESS: Final = "127.0.0.1"
_LIFETIME: Final = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Security:
    """How clients connect. `ca_file`: the authority that signed the nodes' certificates; None without TLS."""

    protocol: str
    mechanism: str | None
    username: str | None
    password: str | None
    ca_file: Path | None

    @property
    def client_properties(self) -> dict[str, str]:
        """The properties of librdkafka's clients."""
        properties = {"security.protocol": self.protocol}
        if self.mechanism and self.username and self.password:
            properties |= {
                "sasl.mechanism": self.mechanism,
                "sasl.username": self.username,
                "sasl.password": self.password,
            }
        if self.ca_file is not None:
            properties["ssl.ca.location"] = str(self.ca_file)
        return properties


def secured(protocol: str, directory: Path) -> tuple[Security, dict[str, str]]:
    """Return how clients connect, and the properties of the nodes; writes certificates into the directory.

    Raises ClusterError for a security protocol that Kafka does not have.
    """
    if protocol not in PROTOCOLS:
        raise ClusterError(f"security {protocol}: one of {', '.join(PROTOCOLS)} was expected")
    has_sasl, has_tls = protocol.startswith("SASL"), protocol.endswith("SSL")
    properties = {"listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:{protocol}"}
    ca_file = None
    if has_sasl:
        user, password = _NODE
        properties |= {
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "listener.name.plaintext.plain.sasl.jaas.config": f'{_MODULE} required username="{user}" '
            f'password="{password}" user_{user}="{password}" user_{USERNAME}="{PASSWORD}";',
        }
    if has_tls:
        ca_file, node_file = _write_certificates(directory)
        properties |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(node_file),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(ca_file),
        }
    if has_sasl:
        return Security(protocol, MECHANISM, USERNAME, PASSWORD, ca_file), properties
    return Security(protocol, None, None, None, ca_file), properties


def _write_certificates(directory: Path) -> tuple[Path, Path]:
    """Write an authority's certificate, and key and certificate of a node on 127.0.0.1."""
    authority_key, node_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _signed("falkirk test authority", authority_key.public_key(), "falkirk test authority", authority_key)
    node = _signed("node", node_key.public_key(), "falkirk test authority", authority_key)
    key = node_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    ca_file, node_file = directory / "ca.pem", directory / "node.pem"
    ca_file.write_bytes(authority.public_bytes(Encoding.PEM))
    node_file.write_bytes(key + node.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM))
    return ca_file, node_file


def _signed(
    subject: str, key: ec.EllipticCurvePublicKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    is_authority = subject == issuer
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFETIME)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if is_authority:
        builder = builder.add_extension(_authority_usage(), critical=True)
    else:
        names = [x509.IPAddress(ipaddress.ip_address(_ADDRESS)), x509.DNSName("localhost")]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _authority_usage() -> x509.KeyUsage:
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
