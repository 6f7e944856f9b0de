"""A broker as the controllers see one: it registers, sends heartbeats, and holds no data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from falkirk.protocol.messages.broker_registration_request import Feature, Listener
from falkirk.simulation.workload.controller_client import NOT_CONTROLLER, ControllerClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release

HEARTBEAT_INTERVAL_MS: Final = 500
_REGISTRATION_RETRY_MS: Final = 200
# It reads no log, and says that it has read all that there will ever be.
_CAUGHT_UP: Final = 1 << 40


class ScriptedBroker(ControllerClient):
    """Says that it is caught up as soon as it is registered, and wants to be unfenced."""

    def __init__(
        self,
        broker_id: int,
        controllers: Sequence[Endpoint],
        chance: Chance,
        *,
        cluster_id: str,
        release: Release,
        rack: str | None,
    ) -> None:
        super().__init__(controllers, chance, client_id=f"broker-{broker_id}")
        self.broker_id = broker_id
        self.broker_epoch: int | None = None
        self.is_fenced = True
        self._cluster_id = cluster_id
        self._release = release
        self._rack = rack
        self._incarnation_id = chance.randbytes(16)
        self._directory_id = chance.randbytes(16)
        self._due_ms = 0

    @property
    def next_due_ms(self) -> int | None:
        """When the next heartbeat is due, or the registration."""
        return self._due_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Register, then send heartbeats."""
        if now_ms < self._due_ms:
            return None
        if self.broker_epoch is None:
            return self._registration()
        return BrokerHeartbeatRequest(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=_CAUGHT_UP,
            want_fence=False,
            want_shut_down=False,
        )

    def answered(self, response: WireMessage, now_ms: int) -> bool:
        """Take note of the epoch, and of being fenced or not."""
        if isinstance(response, BrokerRegistrationResponse):
            self._due_ms = now_ms + _REGISTRATION_RETRY_MS
            if response.error_code == 0:
                self.broker_epoch = response.broker_epoch
                self._due_ms = now_ms
                self.note(f"is registered with epoch {response.broker_epoch}")
            elif response.error_code != NOT_CONTROLLER:
                self.note(f"may not register: error {response.error_code}")
            return response.error_code != NOT_CONTROLLER
        assert isinstance(response, BrokerHeartbeatResponse)
        self._due_ms = now_ms + HEARTBEAT_INTERVAL_MS
        if response.error_code == NOT_CONTROLLER:
            self._due_ms = now_ms
            return False
        if response.error_code:
            self.note(f"sent a heartbeat in vain: error {response.error_code}")
            # A real broker would end and be started again: that is a registration by a new incarnation.
            self.broker_epoch = None
            self._incarnation_id = self.chance.randbytes(16)
        elif response.is_fenced != self.is_fenced:
            self.is_fenced = response.is_fenced
            self.note("is fenced" if self.is_fenced else "is unfenced")
        return True

    def _registration(self) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener("PLAINTEXT", f"broker-{self.broker_id}", 9092, 0)],
            features=[
                Feature(name, levels.lowest, levels.highest)
                for name, levels in self._release.supported_features().items()
            ],
            rack=self._rack,
            log_dirs=(self._directory_id,),
        )
