"""The texts of SCRAM (RFC 5802, section 7), in the bounds of Kafka's ScramMessages: no channel binding."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.sasl.errors import AuthenticationFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_AUTH: Final = "tokenauth"  # noqa: S105 - the name of an extension
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*)"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>(?P<reserved>m={_VALUE},)?n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"{_EXTENSIONS})",
    re.DOTALL,
)
_SERVER_FIRST: Final = re.compile(
    rf"r=(?P<nonce>{_PRINTABLE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,9}}){_EXTENSIONS}", re.DOTALL
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<without>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})", re.DOTALL
)
_SERVER_FINAL: Final = re.compile(
    rf"(?:e=(?P<error>[\x01-\x2b\x2d-\x3c\x3e-\x7f]+)|v=(?P<signature>{_BASE64})){_EXTENSIONS}", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """`header`: that of GS2 (RFC 5801), without channel binding; `bare`: the rest, which is signed."""

    header: str
    authorization_id: str
    name: str
    nonce: str
    extensions: "Mapping[str, str]"
    bare: str

    @property
    def is_token(self) -> bool:
        """Return whether the name is the id of a delegation token."""
        return self.extensions.get(TOKEN_AUTH, "").lower() == "true"


@dataclass(frozen=True, slots=True)
class ServerFirst:
    """`text` is what is signed."""

    nonce: str
    salt: bytes
    iterations: int
    text: str


@dataclass(frozen=True, slots=True)
class ClientFinal:
    """`without_proof` is what is signed. `binding`: the header of the first message again, without channel binding."""

    binding: bytes
    nonce: str
    proof: bytes
    without_proof: str


def parse_client_first(token: bytes) -> ClientFirst:
    """Read `n,[a=authzid],n=name,r=nonce[,extensions]`.

    Raises AuthenticationFailedError, also for a client that binds the channel (`p=`) or could (`y`), as Kafka does.
    """
    match = _CLIENT_FIRST.fullmatch(_text(token))
    if match is None or match["reserved"] is not None:
        raise AuthenticationFailedError("Invalid SCRAM client first message format")
    return ClientFirst(
        header=match["header"],
        authorization_id=unescape_name(match["authzid"] or ""),
        name=unescape_name(match["name"]),
        nonce=match["nonce"],
        extensions=dict(entry.split("=", 1) for entry in match["extensions"].split(",") if entry),
        bare=match["bare"],
    )


def parse_server_first(token: bytes) -> ServerFirst:
    """Read `r=nonce,s=salt,i=iterations[,extensions]`. Raises AuthenticationFailedError."""
    text = _text(token)
    match = _SERVER_FIRST.fullmatch(text)
    if match is None:
        raise AuthenticationFailedError("Invalid SCRAM server first message format")
    return ServerFirst(match["nonce"], b64decode(match["salt"]), int(match["iterations"]), text)


def parse_client_final(token: bytes) -> ClientFinal:
    """Read `c=binding,r=nonce[,extensions],p=proof`. Raises AuthenticationFailedError."""
    match = _CLIENT_FINAL.fullmatch(_text(token))
    if match is None:
        raise AuthenticationFailedError("Invalid SCRAM client final message format")
    return ClientFinal(b64decode(match["binding"]), match["nonce"], b64decode(match["proof"]), match["without"])


def parse_server_final(token: bytes) -> bytes:
    """Read `v=signature` and give the signature. Raises AuthenticationFailedError, for `e=error` too."""
    match = _SERVER_FINAL.fullmatch(_text(token))
    if match is None:
        raise AuthenticationFailedError("Invalid SCRAM server final message format")
    if match["error"] is not None:
        raise AuthenticationFailedError(f"the server says {match['error']}")
    return b64decode(match["signature"])


def escape_name(name: str) -> str:
    """Write a name so that it may stand between commas."""
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(text: str) -> str:
    """Read a name."""
    return text.replace("=2C", ",").replace("=3D", "=")


def _text(token: bytes) -> str:
    return token.decode("utf-8", "replace")
