"""Delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState
    from falkirk.protocol.chance import Chance


class DelegationTokenControl:
    """Delegation tokens."""

    def __init__(self, state: ControllerState, settings: ControllerSettings, random: Chance, now_ms: int) -> None:
        self._state = state

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Give what time has made due, as Controller.due."""
        yield from ()

    @property
    def next_due_ms(self) -> int | None:
        """As Controller.next_due_ms."""
        return None
