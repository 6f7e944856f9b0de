"""Files in Java's own format JKS, which `keytool` made by default before Java 9: private keys and certificates.

The format is not a standard: Java's `sun.security.provider.JavaKeyStore` and `KeyProtector` define it. Its secrecy is
that of SHA-1 in a home-made cipher; it is read because old clusters have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1
from struct import Struct, error
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST_BYTES: Final = 20
_PRIVATE_KEY: Final = 1
_TRUSTED_CERTIFICATE: Final = 2
_SEQUENCE: Final = 0x30
_OCTET_STRING: Final = 0x04
_U16: Final = Struct(">H")
_U32: Final = Struct(">I")
_HEADER: Final = Struct(">4sII")
_TIMESTAMP_BYTES: Final = 8


class JavaKeyStoreError(Exception):
    """The file or its password is wrong; the text is Java's where Java has one."""


@dataclass(frozen=True, slots=True)
class PrivateKeyEntry:
    """A key, still encrypted, and its certificates in DER, the own one first."""

    encrypted: bytes
    chain: tuple[bytes, ...]

    def decrypted(self, password: str) -> bytes:
        """Return the key in PKCS #8 (DER). Raises JavaKeyStoreError if the password is not the key's."""
        secret = password.encode("utf-16-be")
        data = _octets(self.encrypted)
        salt, sealed, digest = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        plain = bytes(a ^ b for a, b in zip(sealed, _key_stream(secret, salt), strict=False))
        if _sha1(secret + plain) != digest:
            raise JavaKeyStoreError("Cannot recover key")
        return plain


@dataclass(frozen=True, slots=True)
class JavaKeyStore:
    """The entries in the order of the file; trusted certificates in DER."""

    keys: tuple[PrivateKeyEntry, ...]
    trusted: tuple[bytes, ...]


def load_java_key_store(data: bytes, password: str | None) -> JavaKeyStore:
    """Read a store. `password`: None leaves its digest unchecked, as Java does. Raises JavaKeyStoreError."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if password is not None and _sha1(password.encode("utf-16-be") + _WHITENER + body) != digest:
        raise JavaKeyStoreError("Keystore was tampered with, or password was incorrect")
    try:
        magic, version, count = _HEADER.unpack_from(body)
        if magic != MAGIC or version not in (1, 2):
            raise JavaKeyStoreError("Invalid keystore format")
        return _Reader(body, has_types=version == 2).entries(count)
    except error as short:
        raise JavaKeyStoreError("Invalid keystore format: it ends within an entry") from short


class _Reader:
    """Reads entries one after the other; raises struct.error at the end of the bytes."""

    def __init__(self, data: bytes, *, has_types: bool) -> None:
        self._data = data
        self._at = _HEADER.size
        self._has_types = has_types

    def entries(self, count: int) -> JavaKeyStore:
        keys, trusted = [], []
        for _ in range(count):
            tag = self._number(_U32)
            self._bytes(self._number(_U16))  # the alias
            self._bytes(_TIMESTAMP_BYTES)
            if tag == _PRIVATE_KEY:
                encrypted = self._bytes(self._number(_U32))
                chain = tuple(self._certificate() for _ in range(self._number(_U32)))
                keys.append(PrivateKeyEntry(encrypted, chain))
            elif tag == _TRUSTED_CERTIFICATE:
                trusted.append(self._certificate())
            else:
                raise JavaKeyStoreError(f"Unrecognized keystore entry: {tag}")
        return JavaKeyStore(tuple(keys), tuple(trusted))

    def _certificate(self) -> bytes:
        if self._has_types:
            self._bytes(self._number(_U16))
        return self._bytes(self._number(_U32))

    def _number(self, form: Struct) -> int:
        (number,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return int(number)

    def _bytes(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) < length:
            raise error("not enough bytes")
        self._at += length
        return found


def _key_stream(secret: bytes, salt: bytes) -> Iterator[int]:
    block = salt
    while True:
        block = _sha1(secret + block)
        yield from block


def _sha1(data: bytes) -> bytes:
    return sha1(data, usedforsecurity=False).digest()


def _octets(encrypted: bytes) -> bytes:
    """Return the encrypted data of an EncryptedPrivateKeyInfo: the octet string behind the algorithm."""
    try:
        content, _ = _element(encrypted, _SEQUENCE)
        _, rest = _element(content, _SEQUENCE)
        data, _ = _element(rest, _OCTET_STRING)
    except IndexError as short:
        raise JavaKeyStoreError("Cannot recover key: it is not in the form of Java's key protector") from short
    return data


def _element(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """Return the content of a DER element, and what follows it. Raises JavaKeyStoreError for another tag."""
    if data[0] != tag:
        raise JavaKeyStoreError("Cannot recover key: it is not in the form of Java's key protector")
    length, at = data[1], 2
    if length & 0x80:
        at += length & 0x7F
        length = int.from_bytes(data[2:at])
    return data[at : at + length], data[at + length :]
