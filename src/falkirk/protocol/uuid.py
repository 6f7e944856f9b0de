"""Kafka's uuids: 16 bytes on the wire, 22 characters of URL-safe base64 in text."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

from falkirk.protocol.chance import Chance
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


def is_reserved_uuid(uuid: bytes) -> bool:
    """Return whether it is one of the first hundred ids, which are reserved (KIP-858: unassigned, lost)."""
    return int.from_bytes(uuid, "big") < 100


def random_uuid(random: Chance) -> bytes:
    """Make a uuid (version 4) as Kafka does: its text never begins with a dash, which would read as an option."""
    while True:
        made = bytearray(random.randbytes(16))
        made[6] = made[6] & 0x0F | 0x40
        made[8] = made[8] & 0x3F | 0x80
        if not uuid_text(bytes(made)).startswith("-"):
            return bytes(made)
