"""Where a node listens."""

from typing import NamedTuple


class Endpoint(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
