"""Updates of features under way at the active controller, one at a time (KIP-584)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.api_error import ApiError
from falkirk.metadata.controller.feature_update import FeatureUpdateContext, FeatureUpdateDecision
from falkirk.metadata.undo_bundle import format_bundle
from falkirk.metadata.undo_objects import live_bundle
from falkirk.node.coordinator_survey import CoordinatorSurvey
from falkirk.node.effects import Fact
from falkirk.node.handlers.handler import NotController
from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.coordinator_use import CoordinatorUse
    from falkirk.node.active_controller import ActiveController
    from falkirk.node.effects import Effect
    from falkirk.node.handlers.handler import Answer
    from falkirk.node.node_state import NodeState
    from falkirk.node.peers import Peers
    from falkirk.protocol.messages import UpdateFeaturesRequest
    from falkirk.storage.disk import Disk


class FeatureUpdates:
    """Decides on updates of features, and has them appended.

    Most are decided at once. Where it takes a look into the coordinators' topics first, no other is begun meanwhile.
    Differs from Kafka: the time that a request allows is for all of it, the commit included.
    """

    def __init__(self, state: NodeState, disk: Disk, peers: Peers, effects: Callable[[Effect], None]) -> None:
        self._state = state
        self._disk = disk
        self._peers = peers
        self._effects = effects
        # For whom a survey is under way.
        self._surveying: ActiveController | None = None

    def start(self, request: UpdateFeaturesRequest, api_version: int, answer: Answer) -> None:
        """Decide on an update, now or when what it rests on is known."""
        active = self._state.serving
        if active is None:
            answer(NotController())
            return
        if self._surveying is active:
            busy = ApiError(ErrorCode.FEATURE_UPDATE_FAILED, "Another update of features is under way. Try it later.")
            answer(active.controller.features.refused(request, api_version, busy).result())
            return
        deadline_ms = self._state.now_ms + max(request.timeout_ms, 0)
        decision = self._decide(active, request, api_version, None)
        if decision.needs_survey:
            self._survey(active, decision, answer, deadline_ms)
        else:
            self._finish(active, decision, answer, deadline_ms)

    def _survey(
        self, active: ActiveController, decision: FeatureUpdateDecision, answer: Answer, deadline_ms: int
    ) -> None:
        request = decision.request
        deadline_ms = min(deadline_ms, self._state.now_ms + SURVEY_MS_MAX)
        self._surveying = active

        def done(use: CoordinatorUse) -> None:
            if self._surveying is active:
                self._surveying = None
            if self._state.serving is not active:
                answer(NotController())
                return
            decided = self._decide(active, request, decision.api_version, use)
            if self._state.now_ms >= deadline_ms:
                late = ApiError(ErrorCode.REQUEST_TIMED_OUT, "What coordinators have in use was not found out in time.")
                answer(decided.refused(late).result())
            else:
                self._finish(active, decided, answer, deadline_ms)

        CoordinatorSurvey(
            self._state, self._peers, decision.topics_to_survey, deadline_ms=deadline_ms, done=done
        ).start()

    def _decide(
        self, active: ActiveController, request: UpdateFeaturesRequest, api_version: int, use: CoordinatorUse | None
    ) -> FeatureUpdateDecision:
        active.catch_up(self._state.now_ms)
        controller = active.controller
        return controller.features.update_features(request, self._context(controller, api_version, use))

    def _finish(
        self, active: ActiveController, decision: FeatureUpdateDecision, answer: Answer, deadline_ms: int
    ) -> None:
        """Have the decision appended; what is not committed by the deadline is answered so."""
        if decision.needs_undo_bundle and not decision.is_refused and not decision.request.validate_only:
            decision = self._with_undo_bundle(decision, active.controller)
        result = decision.result()
        if result.records:
            self._tell(decision)
        elif decision.is_refused and not decision.request.validate_only:
            errors = {name: error.message for name, error in decision.errors.items()}
            fields = {"errors": errors, "blockers": decision.details.blockers}
            self._effects(Fact("warning", "feature-update-refused", fields))
        answer(replace(result, answer_by_ms=deadline_ms))

    def _context(self, controller: Controller, api_version: int, use: CoordinatorUse | None) -> FeatureUpdateContext:
        raft = self._state.raft
        return FeatureUpdateContext(
            api_version=api_version,
            kraft_version=raft.kraft_version,
            voters=raft.voters.keys(),
            now_ms=self._state.now_ms,
            last_contact_ms=controller.cluster.last_contact_ms,
            active_since_ms=controller.cluster.active_since_ms,
            use=use,
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
        for item in decision.cut_off[:TOLD_LOSSES_MAX]:
            self._effects(Fact("warning", "cut-off", item))
        more = sum(max(len(items) - TOLD_LOSSES_MAX, 0) for items in (decision.losses, decision.cut_off))
        if more:
            self._effects(Fact("warning", "more-is-lost", {"count": more}))


UNDO_DIRECTORY: Final = "falkirk-undo"
# The undo bundle has all of them.
TOLD_LOSSES_MAX: Final = 1000
# How long a survey may take, whatever a request allows.
SURVEY_MS_MAX: Final = 10 * 60 * 1000
