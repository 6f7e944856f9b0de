"""Registrations of brokers and controllers, heartbeats, fencing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.controller.replication_control import ReplicationControl
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState


class ClusterControl:
    """Registrations of brokers and controllers, heartbeats, fencing."""

    def __init__(
        self, state: ControllerState, settings: ControllerSettings, replication: ReplicationControl, now_ms: int
    ) -> None:
        self._state = state

    def is_active(self, broker_id: int) -> bool:
        """Say whether a broker is registered, unfenced and not in controlled shutdown."""
        raise NotImplementedError

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Give what time has made due, as Controller.due."""
        yield from ()

    @property
    def next_due_ms(self) -> int | None:
        """As Controller.next_due_ms."""
        return None
