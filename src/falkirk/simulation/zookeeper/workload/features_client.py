"""A client that keeps requesting the features of all brokers, and keeps those of the highest epoch (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.simulation.workload.broker_client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

_POLL_MS: Final = (50, 400)
Features = dict[str, tuple[int, int]]


class FeaturesClient(BrokerClient):
    """`reported`: each broker's last epoch and levels, and when; `highest_epoch`: that of the features in use."""

    def __init__(self, name: str, brokers: Mapping[int, Endpoint], chance: Chance) -> None:
        super().__init__(name, brokers, chance)
        # Responses have features from version 3 on.
        self._versions_behind = 0
        self.reported: dict[int, tuple[int, Features, int]] = {}
        self.highest_epoch = -1
        # How often a broker reported an older epoch than another one before.
        self.older = 0
        self._due_ms = 0

    @property
    def due_ms(self) -> int | None:
        """When the next broker is asked."""
        return self._due_ms

    def act(self) -> None:
        """Send a random broker a request."""
        if self.now_ms < self._due_ms:
            return
        self._due_ms = self.now_ms + self.chance.randrange(*_POLL_MS)
        broker_id = self.chance.choice(sorted(self.brokers))
        request = ApiVersionsRequest(client_software_name="features-client", client_software_version="1")
        self.ask(broker_id, request, lambda response: self._answered(broker_id, response))

    def _answered(self, broker_id: int, response: WireMessage | None) -> None:
        if response is None:
            return
        assert isinstance(response, ApiVersionsResponse)
        epoch = response.finalized_features_epoch
        levels = {each.name: (each.min_version_level, each.max_version_level) for each in response.finalized_features}
        self.reported[broker_id] = epoch, levels, self.now_ms
        self.older += epoch < self.highest_epoch
        self.highest_epoch = max(epoch, self.highest_epoch)
