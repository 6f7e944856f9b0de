"""Requests to other replicas: one at a time to each, with a backoff after a failure (Kafka's RequestManager)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from falkirk.protocol.schema import WireMessage  # noqa: TC001
from falkirk.raft.output import OutboundRequest

if TYPE_CHECKING:
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.raft.config import RaftConfig


class Destination(NamedTuple):
    """The target of a request. `node_id` None: any node at that endpoint."""

    node_id: int | None
    endpoint: "Endpoint"


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request in flight."""

    destination: Destination
    message: WireMessage


@dataclass(slots=True)
class _Connection:
    """`request_id`: in flight. If None, `free_at_ms` is the end of the backoff."""

    request_id: int | None
    free_at_ms: int


class RequestManager:
    """Sends requests, and knows which responses are still expected.

    Every change of state drops the requests in flight (`reset`); responses to them are ignored.
    """

    def __init__(self, config: RaftConfig) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._retry_backoff_ms = config.retry_backoff_ms
        self._connections: dict[Destination, _Connection] = {}
        self._sent: dict[int, SentRequest] = {}
        self._last_request_id = 0
        self.outbound: list[OutboundRequest] = []

    def send(self, destination: Destination, message: WireMessage, now_ms: int) -> int:
        """Send a request to a destination that is ready; return its id."""
        assert self.is_ready(destination, now_ms)
        self.reset(destination)
        self._last_request_id += 1
        request_id = self._last_request_id
        self._connections[destination] = _Connection(request_id, now_ms + self._request_timeout_ms)
        self._sent[request_id] = SentRequest(destination, message)
        self.outbound.append(
            OutboundRequest(
                request_id=request_id,
                node_id=destination.node_id,
                endpoint=destination.endpoint,
                message=message,
                timeout_ms=self._request_timeout_ms,
            )
        )
        return request_id

    def pop_sent(self, request_id: int) -> SentRequest | None:
        """Remove and return the request of a response; None if the response is no longer expected."""
        return self._sent.pop(request_id, None)

    def finished(self, request_id: int, destination: Destination, now_ms: int, *, is_success: bool) -> None:
        """Make the destination ready again, after a backoff if the request failed."""
        connection = self._connections.get(destination)
        if connection is None or connection.request_id != request_id:
            return
        if is_success:
            del self._connections[destination]
        else:
            connection.request_id = None
            connection.free_at_ms = now_ms + self._retry_backoff_ms

    def is_ready(self, destination: Destination, now_ms: int) -> bool:
        """Return whether a request can be sent: none is in flight, except one that has timed out, and no backoff."""
        connection = self._connections.get(destination)
        return connection is None or now_ms >= connection.free_at_ms

    def has_timed_out(self, destination: Destination, now_ms: int) -> bool:
        """Return whether a request has been in flight for too long."""
        connection = self._connections.get(destination)
        return connection is not None and connection.request_id is not None and now_ms >= connection.free_at_ms

    def is_backing_off(self, destination: Destination, now_ms: int) -> bool:
        """Return whether the last request failed a moment ago."""
        connection = self._connections.get(destination)
        return connection is not None and connection.request_id is None and now_ms < connection.free_at_ms

    def has_any_in_flight(self, now_ms: int) -> bool:
        """Return whether any response may still arrive in time."""
        return any(
            connection.request_id is not None and now_ms < connection.free_at_ms
            for connection in self._connections.values()
        )

    def reset(self, destination: Destination) -> None:
        """Drop the request in flight to one replica."""
        connection = self._connections.pop(destination, None)
        if connection is not None and connection.request_id is not None:
            self._sent.pop(connection.request_id, None)

    def reset_all(self) -> None:
        """Drop all requests in flight."""
        self._connections.clear()
        self._sent.clear()

    def pop_outbound(self) -> tuple[OutboundRequest, ...]:
        """Remove and return the requests to send; those that were dropped meanwhile are not sent."""
        wanted = tuple(request for request in self.outbound if request.request_id in self._sent)
        self.outbound.clear()
        return wanted

    def next_change_ms(self, now_ms: int) -> int | None:
        """Return when the next request times out or the next backoff ends."""
        return min((each.free_at_ms for each in self._connections.values() if each.free_at_ms > now_ms), default=None)
