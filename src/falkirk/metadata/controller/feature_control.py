"""Supported and finalized features."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState


class FeatureControl:
    """Supported and finalized features."""

    def __init__(self, state: ControllerState, settings: ControllerSettings) -> None:
        self._state = state
