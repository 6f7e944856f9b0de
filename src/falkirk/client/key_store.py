"""Key stores and trust stores of Kafka's configuration: PEM inline or in a file, PKCS12 and JKS files.

Rules and texts are those of Kafka's DefaultSslEngineFactory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509 import load_der_x509_certificate, load_pem_x509_certificates

from falkirk.client.errors import ClientConfigError
from falkirk.client.java_key_store import MAGIC, JavaKeyStoreError, load_java_key_store
from falkirk.client.x500_name import x500_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

    from falkirk.client.java_key_store import JavaKeyStore

    Settings = Callable[[str], str | None]
    """Returns the value of a key such as `ssl.keystore.type`."""

PEM: Final = "PEM"
# A file of type JKS may be either: Java reads both.
_PKCS12_TYPES: Final = ("PKCS12", "JKS")
_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key and its certificates, the own one first, in PEM."""

    pem: bytes = field(repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name in its own certificate. Raises ValueError for certificates that do not parse."""
        return x500_name(load_pem_x509_certificates(self.pem)[0].subject.public_bytes())


def read_key_store(settings: Settings) -> KeyPair | None:
    """Return the node's own key; None if none is configured. Raises ClientConfigError."""
    kind, path = settings("ssl.keystore.type") or "JKS", settings("ssl.keystore.location")
    password, key_password = settings("ssl.keystore.password"), settings("ssl.key.password")
    key, chain = settings("ssl.keystore.key"), settings("ssl.keystore.certificate.chain")
    _require(key is not None or chain is None, "SSL certificate chain is specified, but private key is not specified")
    if key is not None:
        _require(kind == PEM, f"SSL private key can be specified only for PEM, but key store type is {kind}.")
        _require(chain is not None, "SSL private key is specified, but certificate chain is not specified.")
        _require(path is None, "Both SSL key store location and separate private key are specified.")
        _require(
            password is None,
            "SSL key store password cannot be specified with PEM format, only key password may be specified.",
        )
        return KeyPair(f"{_lines(key)}\n{_lines(chain or '')}\n".encode(), key_password)
    if path is None:
        _require(password is None, "SSL key store is not specified, but key store password is specified.")
        return None
    if kind == PEM:
        _require(
            password is None,
            "SSL key store password cannot be specified with PEM format, only key password may be specified",
        )
        return KeyPair(_read(path, kind), key_password)
    _require(password is not None, "SSL key store is specified, but key store password is not specified.")
    assert password is not None
    return _load(path, kind, password, "ssl.keystore").key_pair(key_password or password)


def read_trust_store(settings: Settings) -> str | None:
    """Return the trusted certificates in PEM; None for those of the machine. Raises ClientConfigError."""
    kind, path = settings("ssl.truststore.type") or "JKS", settings("ssl.truststore.location")
    password, certificates = settings("ssl.truststore.password"), settings("ssl.truststore.certificates")
    if certificates is not None:
        _require(kind == PEM, f"SSL trust store certs can be specified only for PEM, but trust store type is {kind}.")
        _require(path is None, "Both SSL trust store location and separate trust certificates are specified.")
    if kind == PEM and (certificates is not None or path is not None):
        _require(password is None, "SSL trust store password cannot be specified for PEM format.")
        text = _lines(certificates) if path is None else _read(path, kind).decode("latin-1")
        return _trusted(text or "", "ssl.truststore.certificates" if path is None else path)
    if path is None:
        _require(password is None, "SSL trust store is not specified, but trust store password is specified.")
        return None
    found = _load(path, kind, password, "ssl.truststore").trusted()
    _require(bool(found), f"{path}: the trustAnchors parameter must be non-empty")
    return b"".join(found).decode()


def _require(holds: bool, text: str) -> None:  # noqa: FBT001 - it reads like an assertion
    if not holds:
        raise ClientConfigError(text)


def _lines(text: str | None) -> str:
    """Restore the lines of PEM: properties files may have it in one line, with spaces for line breaks."""
    words = (text or "").replace("-----BEGIN ", "\n-----BEGIN~").replace("-----END ", "\n-----END~").split("\n")
    lines = []
    for line in words:
        if line.startswith(("-----BEGIN~", "-----END~")):
            head, _, rest = line.partition("~")
            name, _, body = rest.partition("-----")
            lines += [f"{head} {name}-----", *body.split()]
        else:
            lines += line.split()
    return "\n".join(lines)


def _trusted(text: str, where: str) -> str:
    try:
        found = load_pem_x509_certificates(text[text.find(_CERTIFICATE) :].encode("latin-1"))
    except ValueError as error:
        raise ClientConfigError(f"Invalid PEM keystore configs: no certificates can be read from {where}") from error
    # Without what stands between them: OpenSSL takes ASCII only, and names of authorities have other characters.
    return b"".join(one.public_bytes(Encoding.PEM) for one in found).decode()


def _read(path: str, kind: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = getattr(error, "strerror", None) or error
        raise ClientConfigError(f"Failed to load SSL keystore {path} of type {kind}: {reason}") from error


def _load(path: str, kind: str, password: str | None, key: str) -> _Pkcs12Store | _JavaStore:
    _require(kind.upper() in _PKCS12_TYPES, f"{key}.type: falkirk reads PEM, PKCS12 and JKS, not {kind}")
    data = _read(path, kind)
    where = f"Failed to load SSL keystore {path} of type {kind}"
    try:
        if data.startswith(MAGIC):
            return _JavaStore(load_java_key_store(data, password), where)
        return _Pkcs12Store(load_pkcs12(data, None if password is None else password.encode()), where)
    except (ValueError, JavaKeyStoreError) as error:
        raise ClientConfigError(f"{where}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Pkcs12Store:
    store: PKCS12KeyAndCertificates
    where: str

    def key_pair(self, _key_password: str) -> KeyPair:
        """Return the key, which has the store's password here."""
        loaded = self.store
        if loaded.key is None or loaded.cert is None:
            raise ClientConfigError(f"{self.where}: it has no private key")
        key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain = [loaded.cert, *loaded.additional_certs]
        return KeyPair(b"".join([key, *(one.certificate.public_bytes(Encoding.PEM) for one in chain)]))

    def trusted(self) -> list[bytes]:
        """Return all certificates in PEM."""
        found = [*self.store.additional_certs, *([self.store.cert] if self.store.cert is not None else [])]
        return [one.certificate.public_bytes(Encoding.PEM) for one in found]


@dataclass(frozen=True, slots=True)
class _JavaStore:
    store: JavaKeyStore
    where: str

    def key_pair(self, key_password: str) -> KeyPair:
        """Return the first key."""
        if not self.store.keys:
            raise ClientConfigError(f"{self.where}: it has no private key")
        entry = self.store.keys[0]
        try:
            key = load_der_private_key(entry.decrypted(key_password), None)
        except (ValueError, JavaKeyStoreError) as error:
            raise ClientConfigError(f"{self.where}: {error}") from error
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return KeyPair(b"".join([pem, *map(_pem, entry.chain)]))

    def trusted(self) -> list[bytes]:
        """Return the trusted certificates in PEM, with each key's own, as Java has it."""
        return [_pem(one) for one in (*self.store.trusted, *(entry.chain[0] for entry in self.store.keys))]


def _pem(certificate: bytes) -> bytes:
    return load_der_x509_certificate(certificate).public_bytes(Encoding.PEM)
