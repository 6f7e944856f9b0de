"""A certificate authority with certificates for a cluster and a client, as PEM files."""

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

CLIENT_PRINCIPAL = "User:CN=client,OU=tests,O=falkirk"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files. `server_file` has key and certificates; `other_ca_file` is an authority that nobody trusts."""

    ca_file: Path
    other_ca_file: Path
    server_file: Path
    client_file: Path
    client_key_file: Path


def make_certificates(folder: Path) -> Certificates:
    """Make new certificates; the server's are for 127.0.0.1."""
    folder.mkdir(parents=True)
    authority = trustme.CA()
    made = Certificates(*(folder / name for name in ("ca.pem", "other.pem", "server.pem", "client.pem", "client.key")))
    authority.cert_pem.write_to_path(made.ca_file)
    trustme.CA().cert_pem.write_to_path(made.other_ca_file)
    server = authority.issue_cert("127.0.0.1")
    made.server_file.write_bytes(_key(server) + _chain(server))
    names = {"common_name": "client", "organization_unit_name": "tests", "organization_name": "falkirk"}
    client = authority.issue_cert("client@example.org", **names)
    made.client_file.write_bytes(_chain(client))
    made.client_key_file.write_bytes(_key(client))
    return made


def _key(made: trustme.LeafCert) -> bytes:
    """The key in PKCS #8, the only form that Java reads."""
    key = load_pem_private_key(made.private_key_pem.bytes(), password=None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _chain(made: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in made.cert_chain_pems)
