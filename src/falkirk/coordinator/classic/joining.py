"""A JoinGroup request with its client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.classic.member import WaitingRequest

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.protocol.messages import JoinGroupRequest


@dataclass(frozen=True, slots=True)
class Joining:
    """A JoinGroup, its client, and the token of its response."""

    client: "ClientContext"
    request: "JoinGroupRequest"
    token: "Token"

    @property
    def waiting(self) -> WaitingRequest:
        """The request as its member keeps it until the group can respond."""
        return WaitingRequest(self.token, self.client.api_version)

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the member may take to join again: in version 0 the session timeout."""
        request = self.request
        return request.rebalance_timeout_ms if self.client.api_version else request.session_timeout_ms
