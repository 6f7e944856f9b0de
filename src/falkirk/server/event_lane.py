"""What connections of one kind have told and the node has not heard yet."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final

from falkirk.node.events import BytesReceived

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from falkirk.node.events import ConnectionEvent


class EventLane:
    """Gives all that came since it was last asked or, if that is more than `bytes_max`, a piece of each connection.

    So what many connections send at once, or one that floods, is heard in steps of a bounded size, and what the node
    has to do besides is done between them. Connections take turns; of each the order is kept. `bytes_max` may be set
    anew at any time.

    `missing_bytes` says how much a connection's request that has begun lacks at least, 0 between requests. Bytes that
    only go on with a request are kept and no more, so they count for nothing: one of a megabyte takes a turn or two.
    """

    def __init__(self, bytes_max: int, missing_bytes: Callable[[int], int]) -> None:
        self.bytes_max = bytes_max
        self._missing_bytes = missing_bytes
        self._events: list[ConnectionEvent] = []
        self._size = 0
        self._waiting: OrderedDict[int, deque[ConnectionEvent]] = OrderedDict()

    def add(self, event: ConnectionEvent) -> None:
        """Take in what a connection tells."""
        self._events.append(event)
        if type(event) is BytesReceived:
            self._size += len(event.data)

    def take(self) -> list[ConnectionEvent]:
        """Give what the node is to hear next."""
        events, size = self._events, self._size
        self._events, self._size = [], 0
        if not self._waiting and size <= self.bytes_max:
            return events
        for event in events:
            self._waiting.setdefault(event.connection_id, deque()).append(event)
        return self._take_turns()

    @property
    def waiting(self) -> AbstractSet[int]:
        """The connections of which more is to be taken."""
        return self._waiting.keys()

    def _take_turns(self) -> list[ConnectionEvent]:
        taken: list[ConnectionEvent] = []
        piece_bytes = max(min(PIECE_BYTES_MIN, self.bytes_max), self.bytes_max // len(self._waiting))
        left = self.bytes_max
        for connection_id, events in list(self._waiting.items()):
            if left <= 0:
                break
            left -= _take_piece(events, piece_bytes, taken, missing=self._missing_bytes(connection_id))
            if events:
                self._waiting.move_to_end(connection_id)
            else:
                del self._waiting[connection_id]
        return taken


PIECE_BYTES_MIN: Final = 4096
# An event that brings no bytes is some work all the same.
_EVENT_BYTES: Final = 64
_LENGTH_BYTES: Final = 4


def _take_piece(events: deque[ConnectionEvent], bytes_max: int, taken: list[ConnectionEvent], *, missing: int) -> int:
    """Move events of one connection as far as `bytes_max` goes; give how much that was."""
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
        taken.append(event)
    return bytes_max - left


def _frame_bytes(data: bytes) -> int:
    """Say how much the request takes that begins here, its length included; 0 if that is not there."""
    return _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big") if len(data) >= _LENGTH_BYTES else 0


def _pieces(event: BytesReceived, first_bytes: int, bytes_max: int) -> list[BytesReceived]:
    """Cut all of it at once: what is left would be copied again with each piece that is cut off."""
    connection_id, data = event.connection_id, event.data
    rest = [BytesReceived(connection_id, data[at : at + bytes_max]) for at in range(first_bytes, len(data), bytes_max)]
    return [BytesReceived(connection_id, data[:first_bytes]), *rest]
