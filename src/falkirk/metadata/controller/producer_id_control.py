"""Blocks of producer ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.controller.state import ControllerState


class ProducerIdControl:
    """Blocks of producer ids."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state
