"""Kafka's uuids: 16 bytes on the wire, 22 characters of URL-safe base64 in text."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

from falkirk.protocol.errors import LocalProtocolError


def uuid_text(uuid: bytes) -> str:
    """Write 16 bytes as Kafka prints them."""
    return urlsafe_b64encode(uuid)[:22].decode()


def parse_uuid(text: str) -> bytes:
    """Read a uuid as Kafka prints it. Raises LocalProtocolError."""
    try:
        uuid = urlsafe_b64decode(text + "==") if len(text) == 22 else b""
    except (ValueError, Error):
        uuid = b""
    if len(uuid) != 16:
        raise LocalProtocolError(f"{text!r} is not a uuid (22 characters of URL-safe base64)")
    return uuid
