"""Registers this controller with the active controller until the metadata has it (KIP-919, from 3.7-IV0 on).

Source: ControllerRegistrationManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.config.security_settings import SECURITY_PROTOCOL_IDS
from falkirk.node.connections.backoff import Backoff
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import ControllerRegistrationRequest, ControllerRegistrationResponse
from falkirk.protocol.messages.controller_registration_request import Feature, Listener

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.protocol.schema import WireMessage

# controller.socket.timeout.ms
REQUEST_TIMEOUT_MS: Final = 30_000


class ControllerRegistrar:
    """Registers under an incarnation id that is new at every start."""

    def __init__(
        self,
        step: Step,
        metadata: CommittedMetadata,
        channel: ActiveControllerChannel,
        *,
        incarnation_id: bytes,
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._metadata = metadata
        self._channel = channel
        self._incarnation_id = incarnation_id
        self._effects = effects
        self._backoff = Backoff(step.random, first_ms=100, max_ms=120_000)
        self._is_pending = False
        self._retry_at_ms = step.now_ms

    @property
    def is_due(self) -> bool:
        """True if metadata.version supports the registration and the image lacks it.

        A controller of a lift never registers: below 4.4-IV2 a registration cannot be removed, and would be checked
        whenever a level is raised.
        """
        if self._step.config.is_lift:
            return False
        image = self._metadata.image
        version = image.features.metadata_version
        if version is None or not version.controller_registration_supported:
            return False
        registered = image.cluster.controllers.get(self._step.config.node_id)
        return registered is None or registered.incarnation_id != self._incarnation_id

    def tick(self) -> None:
        """Send the registration if it is due."""
        if self._is_pending or not self.is_due or self._step.now_ms < self._retry_at_ms:
            return
        # Before it is sent: it may fail at once.
        self._is_pending = True
        if not self._channel.send(self._request(), timeout_ms=REQUEST_TIMEOUT_MS, done=self._answered):
            self._is_pending = False

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        if self._is_pending or not self.is_due or not self._channel.is_open:
            return None
        return self._retry_at_ms

    def _request(self) -> ControllerRegistrationRequest:
        config = self._step.config
        supported = config.supported_features
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

    def _answered(self, answer: WireMessage | RequestFailure) -> None:
        self._is_pending = False
        if isinstance(answer, RequestFailure):
            self._retry(answer.reason)
            return
        assert isinstance(answer, ControllerRegistrationResponse), "a response to this request"
        if answer.error_code:
            self._retry(answer.error_message or error_name(answer.error_code))
            return
        self._backoff.reset()
        # The response comes when the record is committed; the image here may lag.
        self._retry_at_ms = self._step.now_ms + self._backoff.max_ms

    def _retry(self, reason: str) -> None:
        self._retry_at_ms = self._step.now_ms + self._backoff.next_ms()
        self._effects(Fact("info", "controller-not-registered", {"reason": reason}))
