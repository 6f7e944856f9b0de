"""SCRAM-SHA-256 and -512: the keys that both sides compute (RFC 5802, section 3)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

ITERATIONS_MIN: Final = 4096
# More than any server of Kafka's asks for (16384), and as much as we are willing to compute for one that we talk to.
ITERATIONS_MAX: Final = 100_000

SALT_BYTES: Final = 17
_SALT_BITS: Final = 130
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class ScramMechanism:
    """`number`: as records and requests have it."""

    name: str
    number: int
    digest: str


SCRAM_MECHANISMS: Final[Mapping[str, ScramMechanism]] = {
    "SCRAM-SHA-256": ScramMechanism("SCRAM-SHA-256", 1, "sha256"),
    "SCRAM-SHA-512": ScramMechanism("SCRAM-SHA-512", 2, "sha512"),
}


class ScramCredential(Protocol):
    """What a server keeps of a password."""

    @property
    def salt(self) -> bytes:
        """Any bytes."""
        ...

    @property
    def stored_key(self) -> bytes:
        """Proves that a client has the password."""
        ...

    @property
    def server_key(self) -> bytes:
        """Proves that a server had it."""
        ...

    @property
    def iterations(self) -> int:
        """How often the password is hashed."""
        ...


@dataclass(frozen=True, slots=True)
class MadeCredential:
    """A ScramCredential that is in no metadata log."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def make_credential(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> MadeCredential:
    """Return the credential that a server stores for this password."""
    salted = salted_password(mechanism, password, salt, iterations)
    return MadeCredential(salt, stored_key(mechanism, salted), server_key(mechanism, salted), iterations)


def unknown_credential(mechanism: ScramMechanism, secret: bytes, name: str) -> MadeCredential:
    """Return the credential with which a server challenges an unknown user.

    It is the same for a name as long as `secret` is, looks like any other, and matches no password.
    """

    def derived(what: bytes) -> bytes:
        return hmac.digest(secret, what + b":" + name.encode("utf-8", "surrogatepass"), mechanism.digest)

    return MadeCredential(salt_text(derived(b"salt")), derived(b"stored"), derived(b"server"), ITERATIONS_MIN)


def salt_text(data: bytes) -> bytes:
    """Make a salt as Kafka's tools do, of at least SALT_BYTES: a number of 130 bits, written in letters and digits."""
    number = int.from_bytes(data[:SALT_BYTES], "big") >> -_SALT_BITS % 8
    digits: list[str] = []
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).encode()


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Hash a password; this is what takes time. Kafka does no SASLprep: the password is its UTF-8."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def stored_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return StoredKey: the hash of ClientKey (RFC 5802)."""
    return hashlib.new(mechanism.digest, client_key(mechanism, salted)).digest()


def client_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return ClientKey, which only the password's owner can compute (RFC 5802)."""
    return hmac.digest(salted, b"Client Key", mechanism.digest)


def server_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return ServerKey, with which the server signs (RFC 5802)."""
    return hmac.digest(salted, b"Server Key", mechanism.digest)


def exclusive_or(left: bytes, right: bytes) -> bytes:
    """Combine bytes of one length."""
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(len(left), "big")
