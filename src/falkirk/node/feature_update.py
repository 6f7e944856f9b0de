"""Updates of features under way at the active controller, one at a time (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.api_error import ApiError
from falkirk.metadata.controller.feature_update import FeatureUpdateContext, FeatureUpdateDecision
from falkirk.metadata.undo_bundle import format_bundle
from falkirk.metadata.undo_objects import live_bundle
from falkirk.node.effects import Fact
from falkirk.node.handlers.handler import NotController
from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.controller import Controller
    from falkirk.node.effects import Effect
    from falkirk.node.handlers.handler import Answer
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.messages import UpdateFeaturesRequest
    from falkirk.storage.disk import Disk


class FeatureUpdates:
    """Decides on updates of features, and has them appended."""

    def __init__(self, state: NodeState, disk: Disk, effects: Callable[[Effect], None]) -> None:
        self._state = state
        self._disk = disk
        self._effects = effects

    def start(self, request: UpdateFeaturesRequest, api_version: int, answer: Answer) -> None:
        """Decide on an update."""
        active = self._state.serving
        if active is None:
            answer(NotController())
            return
        controller = active.controller
        decision = controller.features.update_features(request, self._context(controller, api_version))
        if decision.needs_undo_bundle and not decision.is_refused and not request.validate_only:
            decision = self._with_undo_bundle(decision, controller)
        result = decision.result()
        if result.records:
            self._tell(decision)
        answer(result)

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

    def _with_undo_bundle(self, decision: FeatureUpdateDecision, controller: Controller) -> FeatureUpdateDecision:
        """Write what undoes the update, before its first record is appended; without it nothing is lowered."""
        image = controller.state.image
        kraft_version, voters = self._state.raft.voters_before(self._state.raft.end_offset)
        bundle = live_bundle(
            image, decision.levels, cluster_id=self._state.cluster_id, kraft_version=kraft_version, voters=voters
        )
        directory = self._undo_directory
        before = controller.state.metadata_version
        after = MetadataVersion.of_level(decision.levels.get(METADATA_VERSION, before.level))
        path = f"{directory}/{self._state.cluster_id}-{controller.state.next_offset}-{before}-{after}.zip"
        try:
            self._disk.make_directory(directory)
            self._disk.write(path, [format_bundle(bundle)])
        except OSError as error:
            reason = f"The undo bundle {path} cannot be written, so nothing was changed: {error}"
            self._effects(Fact("error", "undo-bundle-not-written", {"path": path, "reason": str(error)}))
            return decision.refused(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, reason))
        self._effects(Fact("info", "undo-bundle-written", {"path": path}))
        return decision.with_undo_bundle(path)

    @property
    def _undo_directory(self) -> str:
        """Outside of the log directories: what is in there may be formatted anew, or belong to Kafka's own nodes."""
        config = self._state.config
        return config.undo_dir or f"{config.metadata_log_dir.rstrip('/').rpartition('/')[0]}/{UNDO_DIRECTORY}"

    def _tell(self, decision: FeatureUpdateDecision) -> None:
        self._effects(Fact("info", "features-updated", dict(decision.levels)))
        for loss in decision.losses[:TOLD_LOSSES_MAX]:
            self._effects(Fact("warning", "metadata-lost", loss.as_json()))
        more = len(decision.losses) - TOLD_LOSSES_MAX
        if more > 0:
            self._effects(Fact("warning", "more-metadata-lost", {"count": more}))


UNDO_DIRECTORY: Final = "falkirk-undo"
# The undo bundle has all of them.
TOLD_LOSSES_MAX: Final = 1000
