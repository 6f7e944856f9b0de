"""A controller tells the active controller who it is, until the metadata says so (KIP-919, from 3.7-IV0 on).

Source: ControllerRegistrationManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.backoff import Backoff
from falkirk.node.effects import Fact
from falkirk.node.peers import PeerFailure
from falkirk.node.security_protocol import SECURITY_PROTOCOL_IDS
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import ControllerRegistrationRequest, ControllerRegistrationResponse
from falkirk.protocol.messages.controller_registration_request import Feature, Listener

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.schema import WireMessage

# What Kafka waits for an answer (controller.socket.timeout.ms).
REQUEST_TIMEOUT_MS: Final = 30_000


class ControllerRegistration:
    """Registers this controller, under an incarnation id that is new at every start."""

    def __init__(
        self,
        state: NodeState,
        channel: ActiveControllerChannel,
        *,
        incarnation_id: bytes,
        random: Chance,
        effects: Callable[[Effect], None],
    ) -> None:
        self._state = state
        self._channel = channel
        self._incarnation_id = incarnation_id
        self._effects = effects
        self._backoff = Backoff(random, first_ms=100, max_ms=120_000)
        self._is_pending = False
        self._retry_at_ms = state.now_ms

    @property
    def is_due(self) -> bool:
        """Say whether the metadata could have the registration and has not."""
        image = self._state.image
        version = image.features.metadata_version
        if version is None or not version.controller_registration_supported:
            return False
        registered = image.cluster.controllers.get(self._state.config.node_id)
        return registered is None or registered.incarnation_id != self._incarnation_id

    def tick(self) -> None:
        """Send the registration if it is time to."""
        if self._is_pending or not self.is_due or self._state.now_ms < self._retry_at_ms:
            return
        self._is_pending = self._channel.send(self._request(), timeout_ms=REQUEST_TIMEOUT_MS, done=self._answered)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do that nothing else would wake the node for."""
        if self._is_pending or not self.is_due or not self._channel.is_open:
            return None
        return self._retry_at_ms

    def _request(self) -> ControllerRegistrationRequest:
        config = self._state.config
        supported = self._state.supported_features
        return ControllerRegistrationRequest(
            controller_id=config.node_id,
            incarnation_id=self._incarnation_id,
            listeners=[
                Listener(
                    listener.name,
                    listener.advertised.host,
                    listener.advertised.port,
                    SECURITY_PROTOCOL_IDS[listener.security_protocol],
                )
                for listener in config.listeners
                if listener.is_controller
            ],
            features=[Feature(name, levels.lowest, levels.highest) for name, levels in supported.items()],
        )

    def _answered(self, answer: WireMessage | PeerFailure) -> None:
        self._is_pending = False
        if isinstance(answer, PeerFailure):
            self._retry(answer.reason)
            return
        assert isinstance(answer, ControllerRegistrationResponse), "the answer to what was asked"
        if answer.error_code:
            self._retry(answer.error_message or error_name(answer.error_code))
            return
        self._backoff.reset()
        # The answer comes when the record is committed; the image here may be a moment behind.
        self._retry_at_ms = self._state.now_ms + self._backoff.max_ms

    def _retry(self, reason: str) -> None:
        self._retry_at_ms = self._state.now_ms + self._backoff.next_ms()
        self._effects(Fact("info", "controller-not-registered", {"reason": reason}))
