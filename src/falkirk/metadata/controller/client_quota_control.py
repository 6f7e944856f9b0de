"""Client quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.controller.state import ControllerState


class ClientQuotaControl:
    """Client quotas."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state
