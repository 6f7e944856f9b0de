"""Unregistration of a broker that does not support what the cluster has finalized, before it ends (KIP-778)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Close, Fact
from falkirk.node.events import BytesReceived, ConnectionAccepted, ConnectionLost, ConnectionOpened
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.schema import WireMessage

# Serving on without understanding the cluster does more harm than staying registered.
UNREGISTRATION_TIMEOUT_MS: Final = 5_000


class Unregistration:
    """Requests it once; over with the response, without a controller, or on a timeout. `reason`: why the node ends."""

    def __init__(
        self,
        channel: ActiveControllerChannel,
        outbound: OutboundConnections,
        *,
        broker_id: int,
        reason: str,
        now_ms: int,
        effects: Callable[[Effect], None],
    ) -> None:
        self.reason = reason
        self.deadline_ms = now_ms + UNREGISTRATION_TIMEOUT_MS
        self._outbound = outbound
        self._effects = effects
        self._is_answered = False
        request = UnregisterBrokerRequest(broker_id)
        if not channel.send(request, timeout_ms=UNREGISTRATION_TIMEOUT_MS, done=self._answered):
            self._is_answered = True

    def receive(self, events: Sequence[Event], now_ms: int) -> int:
        """Process events of outbound connections, refuse others; return when to be called without an event."""
        outbound = self._outbound
        for event in events:
            match event:
                case ConnectionAccepted(connection_id):
                    self._effects(Close(connection_id))
                case BytesReceived(connection_id, data) if outbound.owns(connection_id):
                    outbound.received(connection_id, data, now_ms)
                case ConnectionOpened(connection_id) if outbound.owns(connection_id):
                    outbound.opened(connection_id, now_ms)
                case ConnectionLost(connection_id, reason) if outbound.owns(connection_id):
                    outbound.lost(connection_id, reason, now_ms)
                case _:
                    pass
        outbound.tick(now_ms)
        wakeup_ms = outbound.next_wakeup_ms
        return self.deadline_ms if wakeup_ms is None else min(wakeup_ms, self.deadline_ms)

    def is_over(self, now_ms: int) -> bool:
        """Return whether the node may end."""
        return self._is_answered or now_ms >= self.deadline_ms

    def _answered(self, answer: WireMessage | RequestFailure) -> None:
        self._is_answered = True
        if isinstance(answer, RequestFailure):
            self._effects(Fact("warning", "broker-not-unregistered", {"reason": answer.reason}))
            return
        assert isinstance(answer, UnregisterBrokerResponse), "a response to this request"
        if answer.error_code:
            reason = answer.error_message or error_name(answer.error_code)
            self._effects(Fact("warning", "broker-not-unregistered", {"reason": reason}))
        else:
            self._effects(Fact("info", "broker-unregistered"))
