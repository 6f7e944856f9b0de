"""Requests to whoever is the active controller, this node included (Kafka's NodeToControllerChannelManager)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.peers import PeerFailure
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.node_state import NodeState
    from falkirk.node.peers import Peers
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange


class ActiveControllerChannel:
    """One connection, to the leader of the quorum; `purpose` tells it from others."""

    def __init__(self, state: NodeState, peers: Peers, purpose: str) -> None:
        self._state = state
        self._peers = peers
        self._purpose = purpose

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the active controller listens, as far as is known."""
        return self._state.raft.leader_endpoint

    @property
    def is_open(self) -> bool:
        """Say whether there is anybody to send to."""
        return self.endpoint is not None

    @property
    def ranges(self) -> Mapping[int, SupportedRange] | None:
        """The versions that it told, if it is connected."""
        endpoint = self.endpoint
        return None if endpoint is None else self._peers.ranges(self._purpose, endpoint)

    def keep_open(self) -> None:
        """Connect if there is no connection: its versions are wanted though nothing is asked."""
        endpoint = self.endpoint
        if endpoint is not None:
            self._peers.connect(self._purpose, endpoint, self._state.now_ms)

    def send(
        self,
        message: WireMessage,
        *,
        timeout_ms: int,
        done: Callable[[WireMessage | PeerFailure], None],
        fit: Callable[[WireMessage, int], object] | None = None,
    ) -> bool:
        """Send a request; False, and nothing happens, if no active controller is known. `fit`: as in Peers.

        An answer NOT_CONTROLLER comes as a failure, and closes the connection.
        """
        endpoint = self.endpoint
        if endpoint is None:
            return False

        def answered(answer: WireMessage | PeerFailure) -> None:
            if getattr(answer, "error_code", None) == ErrorCode.NOT_CONTROLLER:
                self._peers.disconnect(self._purpose, endpoint, "not the active controller", self._state.now_ms)
                done(PeerFailure(f"{endpoint} is not the active controller"))
            else:
                done(answer)

        self._peers.send(
            self._purpose, endpoint, message, timeout_ms=timeout_ms, now_ms=self._state.now_ms, done=answered, fit=fit
        )
        return True
