"""A member of a classic group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.coordinator.runtime.outcome import Token  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A JoinGroup or SyncGroup whose response waits for the group."""

    token: Token
    api_version: int


@dataclass(slots=True, kw_only=True)
class ClassicMember:
    """`protocols` in the member's order of preference; `assignment`: what the leader assigned."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: "list[JoinGroupRequestProtocol]" = field(default_factory=list)
    assignment: bytes = b""
    waiting_join: WaitingRequest | None = None
    waiting_sync: WaitingRequest | None = None
    # No completed join has assigned its id yet: it cannot send heartbeats.
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        """True if it has a group.instance.id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """True if it counts as alive without heartbeats: while a request of it waits, unless it is new."""
        return not self.is_new and (self.waiting_join is not None or self.waiting_sync is not None)

    @property
    def protocol_names(self) -> set[str]:
        """Return the names of the protocols it supports."""
        return {protocol.name for protocol in self.protocols}

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return its metadata for a protocol that it supports."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise AssertionError(f"member {self.member_id} does not support protocol {protocol_name}")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the first of its protocols that is a candidate."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise AssertionError(f"member {self.member_id} supports none of the candidates")
