"""Events of one kind of connections that the node has not received yet."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final

from falkirk.node.events import BytesReceived

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from falkirk.node.events import ConnectionEvent

PIECE_BYTES_MIN: Final = 4096
# The cost of an event without bytes.
_EVENT_BYTES: Final = 64
_LENGTH_BYTES: Final = 4


class EventLane:
    """Returns all events since the last call or, if they exceed `bytes_max`, a part of each connection's.

    So the node processes what many connections send at once, or one that floods, in steps of a bounded size, and does
    its other work between them. Connections take turns; the order within a connection is kept. `bytes_max` may change
    at any time.

    `missing_bytes` returns the minimum that a connection's current request lacks, 0 between requests. Bytes that only
    continue a request are just stored, so they do not count: a megabyte takes a turn or two.
    """

    def __init__(self, bytes_max: int, missing_bytes: Callable[[int], int]) -> None:
        self.bytes_max = bytes_max
        self._missing_bytes = missing_bytes
        self._events: list[ConnectionEvent] = []
        self._size = 0
        self._waiting: OrderedDict[int, deque[ConnectionEvent]] = OrderedDict()

    def add(self, event: ConnectionEvent) -> None:
        """Add a connection's event."""
        self._events.append(event)
        if type(event) is BytesReceived:
            self._size += len(event.data)

    def pop(self) -> list[ConnectionEvent]:
        """Remove and return the events for the next step."""
        events, size = self._events, self._size
        self._events, self._size = [], 0
        if not self._waiting and size <= self.bytes_max:
            return events
        for event in events:
            self._waiting.setdefault(event.connection_id, deque()).append(event)
        return self._pop_turns()

    @property
    def waiting(self) -> AbstractSet[int]:
        """The connections with more events."""
        return self._waiting.keys()

    def _pop_turns(self) -> list[ConnectionEvent]:
        popped: list[ConnectionEvent] = []
        piece_bytes = max(min(PIECE_BYTES_MIN, self.bytes_max), self.bytes_max // len(self._waiting))
        left = self.bytes_max
        for connection_id, events in list(self._waiting.items()):
            if left <= 0:
                break
            left -= _pop_piece(events, piece_bytes, popped, missing=self._missing_bytes(connection_id))
            if events:
                self._waiting.move_to_end(connection_id)
            else:
                del self._waiting[connection_id]
        return popped


def _pop_piece(events: deque[ConnectionEvent], bytes_max: int, popped: list[ConnectionEvent], *, missing: int) -> int:
    """Move events of one connection up to `bytes_max`; return how many bytes counted."""
    left = bytes_max
    is_between = not missing
    while events and left > 0:
        event = events.popleft()
        left -= _EVENT_BYTES
        if type(event) is BytesReceived:
            size = len(event.data)
            if is_between:
                missing = _frame_bytes(event.data)
            if size < missing:
                missing -= size
            else:
                piece_bytes = max(bytes_max, missing)
                if size > piece_bytes:
                    event, *rest = _pieces(event, piece_bytes, bytes_max)
                    events.extendleft(reversed(rest))
                left -= len(event.data)
                missing = 0
            is_between = False
        popped.append(event)
    return bytes_max - left


def _frame_bytes(data: bytes) -> int:
    """Return the size of the request that begins here, including its length; 0 if that is incomplete."""
    return _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big") if len(data) >= _LENGTH_BYTES else 0


def _pieces(event: BytesReceived, first_bytes: int, bytes_max: int) -> list[BytesReceived]:
    """Split all of it at once: else the rest would be copied again for each piece."""
    connection_id, data = event.connection_id, event.data
    rest = [BytesReceived(connection_id, data[at : at + bytes_max]) for at in range(first_bytes, len(data), bytes_max)]
    return [BytesReceived(connection_id, data[:first_bytes]), *rest]
