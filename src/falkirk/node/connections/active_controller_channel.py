"""Requests to the active controller, which may be this node itself (Kafka's NodeToControllerChannelManager)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.step import Step
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange


class ActiveControllerChannel:
    """One connection to the leader of the quorum; `leader_endpoint` finds it, `purpose` names the connection."""

    def __init__(
        self, step: Step, outbound: OutboundConnections, leader_endpoint: Callable[[], Endpoint | None], purpose: str
    ) -> None:
        self._step = step
        self._outbound = outbound
        self._leader_endpoint = leader_endpoint
        self._purpose = purpose

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the active controller listens; None if it is not known."""
        return self._leader_endpoint()

    @property
    def is_open(self) -> bool:
        """True if an active controller is known."""
        return self.endpoint is not None

    @property
    def ranges(self) -> Mapping[int, SupportedRange] | None:
        """The versions that the active controller offers; None while it is not connected."""
        endpoint = self.endpoint
        return None if endpoint is None else self._outbound.ranges(self._purpose, endpoint)

    def keep_open(self) -> None:
        """Connect if there is no connection: the versions are needed even if no request is."""
        endpoint = self.endpoint
        if endpoint is not None:
            self._outbound.connect(self._purpose, endpoint, self._step.now_ms)

    def send(
        self,
        message: WireMessage,
        *,
        timeout_ms: int,
        done: Callable[[WireMessage | RequestFailure], None],
        fit: Callable[[WireMessage, int], object] | None = None,
    ) -> bool:
        """Send a request; return False, having done nothing, if no active controller is known.

        `fit`: as in `OutboundConnections.send`. NOT_CONTROLLER counts as a failure, and closes the connection.
        """
        endpoint = self.endpoint
        if endpoint is None:
            return False

        def answered(answer: WireMessage | RequestFailure) -> None:
            if getattr(answer, "error_code", None) == ErrorCode.NOT_CONTROLLER:
                self._outbound.disconnect(self._purpose, endpoint, "not the active controller", self._step.now_ms)
                done(RequestFailure(f"{endpoint} is not the active controller"))
            else:
                done(answer)

        self._outbound.send(
            self._purpose, endpoint, message, timeout_ms=timeout_ms, now_ms=self._step.now_ms, done=answered, fit=fit
        )
        return True
