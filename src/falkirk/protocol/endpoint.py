"""Where a node listens."""

from typing import Final, NamedTuple

_PORT_MAX: Final = 65535
_PORT_DIGITS_MAX: Final = len(str(_PORT_MAX))


class Endpoint(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_port(text: str) -> int | None:
    """Return the port that a text is, 0 included; None if it is none."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _PORT_DIGITS_MAX
    return int(text) if is_number and int(text) <= _PORT_MAX else None
