"""What clients make a node hold: bytes of requests, by the address that they came from, and frames that do not end."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.protocol.connection import Connection

# A frame that has begun must go on by so many bytes in each window, or end.
FRAME_WINDOW_MS: Final = 60_000
FRAME_WINDOW_BYTES: Final = 64 * 1024


@dataclass(slots=True)
class AddressUsage:
    """What all connections of one address hold together, in bytes.

    `buffered_bytes`: unfinished frames, and requests that wait behind open ones. `open_bytes`: requests that have no
    response yet.
    """

    connections: int = 0
    buffered_bytes: int = 0
    open_bytes: int = 0


class ClientUsage:
    """Usage by address. The numbers of a connection are its own fields; here are the sums."""

    def __init__(self) -> None:
        self._by_host: dict[str, AddressUsage] = {}

    def accept(self, client_host: str) -> AddressUsage:
        """Count a connection; return what its address holds, a live object."""
        usage = self._by_host.setdefault(client_host, AddressUsage())
        usage.connections += 1
        return usage

    def lost(self, client_host: str, *, buffered_bytes: int, open_bytes: int) -> None:
        """Uncount a connection with all that it held."""
        usage = self._by_host[client_host]
        usage.connections -= 1
        usage.buffered_bytes -= buffered_bytes
        usage.open_bytes -= open_bytes
        if not usage.connections:
            del self._by_host[client_host]


class UnfinishedFrames:
    """Connections whose frame has begun and not ended, with the end of their window; the first one ends first."""

    def __init__(self) -> None:
        self._windows: OrderedDict[int, tuple[int, int, Connection]] = OrderedDict()

    def __contains__(self, connection_id: int) -> bool:
        """Return whether a frame of this connection has begun, as far as was recorded."""
        return connection_id in self._windows

    def received(self, connection_id: int, connection: Connection, now_ms: int, *, has_ended_one: bool) -> None:
        """Record what a connection has buffered of a frame now. `has_ended_one`: a frame before it has ended."""
        if not connection.pending_bytes:
            self._windows.pop(connection_id, None)
        elif has_ended_one or connection_id not in self._windows:
            self._begin(connection_id, connection, now_ms)

    def lost(self, connection_id: int) -> None:
        """Remove a connection."""
        self._windows.pop(connection_id, None)

    def pop_too_slow(self, now_ms: int) -> int | None:
        """Remove and return the id of a connection whose frame did not go on fast enough; None: there is none now."""
        while self._windows:
            connection_id, (end_ms, bytes_then, connection) = next(iter(self._windows.items()))
            if end_ms > now_ms:
                return None
            if connection.pending_bytes - bytes_then < FRAME_WINDOW_BYTES:
                del self._windows[connection_id]
                return connection_id
            self._begin(connection_id, connection, now_ms)
        return None

    @property
    def next_end_ms(self) -> int | None:
        """When the first window ends; None if no frame has begun."""
        first = next(iter(self._windows.values()), None)
        return None if first is None else first[0]

    def _begin(self, connection_id: int, connection: Connection, now_ms: int) -> None:
        self._windows[connection_id] = (now_ms + FRAME_WINDOW_MS, connection.pending_bytes, connection)
        self._windows.move_to_end(connection_id)
