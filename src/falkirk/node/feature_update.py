"""Updates of features under way at the active controller, one at a time (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.feature_update import FeatureUpdateContext
from falkirk.node.handlers.handler import NotController

if TYPE_CHECKING:
    from falkirk.metadata.controller.controller import Controller
    from falkirk.node.handlers.handler import Answer
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.messages import UpdateFeaturesRequest


class FeatureUpdates:
    """Decides on updates of features, and has them appended."""

    def __init__(self, state: NodeState) -> None:
        self._state = state

    def start(self, request: UpdateFeaturesRequest, api_version: int, answer: Answer) -> None:
        """Decide on an update."""
        active = self._state.serving
        if active is None:
            answer(NotController())
            return
        controller = active.controller
        answer(controller.features.update_features(request, self._context(controller, api_version)).result())

    def _context(self, controller: Controller, api_version: int) -> FeatureUpdateContext:
        raft = self._state.raft
        return FeatureUpdateContext(
            api_version=api_version,
            kraft_version=raft.kraft_version,
            voters=raft.voters.keys(),
            now_ms=self._state.now_ms,
            last_contact_ms=controller.cluster.last_contact_ms,
            active_since_ms=controller.cluster.active_since_ms,
        )
