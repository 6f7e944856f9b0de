"""A JoinGroup and who sent it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.classic.member import WaitingRequest

if TYPE_CHECKING:
    from falkirk.coordinator.shard.client import ClientContext
    from falkirk.coordinator.shard.outcome import Token
    from falkirk.protocol.messages import JoinGroupRequest


@dataclass(frozen=True, slots=True)
class Joining:
    """One of them."""

    client: ClientContext
    request: JoinGroupRequest
    token: Token

    @property
    def waiting(self) -> WaitingRequest:
        """The request, as a member keeps it until the group is that far."""
        return WaitingRequest(self.token, self.client.api_version)

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the member may take to join again: in version 0 its session timeout says it."""
        request = self.request
        return request.rebalance_timeout_ms if self.client.api_version else request.session_timeout_ms
