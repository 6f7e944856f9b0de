"""What a broker does when the cluster has finalized what it does not support: it unregisters, then ends (KIP-778)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Close, Fact
from falkirk.node.events import BytesReceived, ConnectionAccepted, ConnectionLost, ConnectionOpened
from falkirk.node.peers import PeerFailure
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.node.peers import Peers
    from falkirk.protocol.schema import WireMessage

# A broker that serves on without understanding the cluster does more harm than one that stays registered.
UNREGISTRATION_TIMEOUT_MS: Final = 5_000


class Unregistration:
    """Asks once; over when there is an answer, nobody to ask, or no time left. `reason`: why the node ends."""

    def __init__(
        self,
        channel: ActiveControllerChannel,
        peers: Peers,
        *,
        broker_id: int,
        reason: str,
        now_ms: int,
        effects: Callable[[Effect], None],
    ) -> None:
        self.reason = reason
        self.deadline_ms = now_ms + UNREGISTRATION_TIMEOUT_MS
        self._peers = peers
        self._effects = effects
        self._is_answered = not channel.send(
            UnregisterBrokerRequest(broker_id), timeout_ms=UNREGISTRATION_TIMEOUT_MS, done=self._answered
        )

    def hear(self, events: Sequence[Event], now_ms: int) -> int:
        """Take in what other nodes say, turn away whoever else comes; give when to be called without an event."""
        peers = self._peers
        for event in events:
            match event:
                case ConnectionAccepted(connection_id):
                    self._effects(Close(connection_id))
                case BytesReceived(connection_id, data) if peers.owns(connection_id):
                    peers.received(connection_id, data, now_ms)
                case ConnectionOpened(connection_id) if peers.owns(connection_id):
                    peers.opened(connection_id, now_ms)
                case ConnectionLost(connection_id, reason) if peers.owns(connection_id):
                    peers.lost(connection_id, reason, now_ms)
                case _:
                    pass
        peers.tick(now_ms)
        wakeup_ms = peers.next_wakeup_ms
        return self.deadline_ms if wakeup_ms is None else min(wakeup_ms, self.deadline_ms)

    def is_over(self, now_ms: int) -> bool:
        """Say whether the node may end."""
        return self._is_answered or now_ms >= self.deadline_ms

    def _answered(self, answer: WireMessage | PeerFailure) -> None:
        self._is_answered = True
        if isinstance(answer, PeerFailure):
            self._effects(Fact("warning", "broker-not-unregistered", {"reason": answer.reason}))
            return
        assert isinstance(answer, UnregisterBrokerResponse), "the answer to what was asked"
        if answer.error_code:
            reason = answer.error_message or error_name(answer.error_code)
            self._effects(Fact("warning", "broker-not-unregistered", {"reason": reason}))
        else:
            self._effects(Fact("info", "broker-unregistered"))
