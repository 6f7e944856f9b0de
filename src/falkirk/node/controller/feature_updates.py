"""Feature updates at the active controller, one at a time (KIP-584)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext, FeatureUpdateDecision
from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.undo.undo_bundle import format_bundle
from falkirk.metadata.undo.undo_objects import live_bundle
from falkirk.node.controller.coordinator_survey import CoordinatorSurvey
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.controller.active_controller import ActiveController
    from falkirk.node.controller.controllership import Controllership
    from falkirk.node.effects import Effect
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.disk import Disk

    Done = Callable[[ControllerResult[UpdateFeaturesResponse] | None], None]

UNDO_DIRECTORY: Final = "falkirk-undo"
# Losses that are logged; the undo bundle has all of them.
LOGGED_LOSSES_MAX: Final = 1000
# The limit of a survey, whatever the timeout of the request.
SURVEY_MS_MAX: Final = 10 * 60 * 1000


class FeatureUpdates:
    """Decides on feature updates.

    Most are decided at once. While one waits for a survey of the coordinators' topics, others are refused. Differs from
    Kafka: the timeout of a request covers all of it, including the commit.
    """

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        metadata: CommittedMetadata,
        controllership: Controllership,
        *,
        disk: Disk,
        outbound: OutboundConnections,
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._raft = raft
        self._metadata = metadata
        self._controllership = controllership
        self._disk = disk
        self._outbound = outbound
        self._effects = effects
        # The controller that waits for a survey.
        self._surveying: ActiveController | None = None

    def start(self, request: UpdateFeaturesRequest, api_version: int, done: Done) -> None:
        """Decide on an update, now or after a survey; `done` gets None if this is not the active controller."""
        active = self._controllership.serving
        if active is None:
            done(None)
            return
        if self._surveying is active:
            busy = ApiError(ErrorCode.FEATURE_UPDATE_FAILED, "Another update of features is under way. Try it later.")
            done(active.controller.features.refused(request, api_version, busy).result())
            return
        deadline_ms = self._step.now_ms + max(request.timeout_ms, 0)
        decision = self._decide(active, request, api_version, None)
        if decision.needs_survey:
            self._survey(active, decision, done, deadline_ms)
        else:
            self._finish(active, decision, done, deadline_ms)

    def _survey(self, active: ActiveController, decision: FeatureUpdateDecision, done: Done, deadline_ms: int) -> None:
        request = decision.request
        deadline_ms = min(deadline_ms, self._step.now_ms + SURVEY_MS_MAX)
        self._surveying = active

        def surveyed(use: CoordinatorUse) -> None:
            if self._surveying is active:
                self._surveying = None
            if self._controllership.serving is not active:
                done(None)
                return
            decided = self._decide(active, request, decision.api_version, use)
            if self._step.now_ms >= deadline_ms:
                late = ApiError(ErrorCode.REQUEST_TIMED_OUT, "What coordinators have in use was not found out in time.")
                done(decided.refused(late).result())
            else:
                self._finish(active, decided, done, deadline_ms)

        CoordinatorSurvey(
            self._step,
            self._metadata,
            self._outbound,
            decision.topics_to_survey,
            deadline_ms=deadline_ms,
            done=surveyed,
        ).start()

    def _decide(
        self, active: ActiveController, request: UpdateFeaturesRequest, api_version: int, use: CoordinatorUse | None
    ) -> FeatureUpdateDecision:
        active.catch_up(self._step.now_ms)
        controller = active.controller
        return controller.features.update_features(request, self._context(controller, api_version, use))

    def _finish(self, active: ActiveController, decision: FeatureUpdateDecision, done: Done, deadline_ms: int) -> None:
        """Return the decision for appending; it must be committed by the deadline."""
        if decision.needs_undo_bundle and not decision.is_refused and not decision.request.validate_only:
            decision = self._with_undo_bundle(decision, active.controller)
        result = decision.result()
        if result.records:
            self._log_losses(decision)
        elif decision.is_refused and not decision.request.validate_only:
            errors = {name: error.message for name, error in decision.errors.items()}
            fields = {"errors": errors, "blockers": decision.details.blockers}
            self._effects(Fact("warning", "feature-update-refused", fields))
        done(replace(result, answer_by_ms=deadline_ms))

    def _context(self, controller: Controller, api_version: int, use: CoordinatorUse | None) -> FeatureUpdateContext:
        raft = self._raft
        return FeatureUpdateContext(
            api_version=api_version,
            kraft_version=raft.kraft_version,
            voters=raft.voters.keys(),
            lowering_support=raft.lowering_support(self._step.now_ms),
            now_ms=self._step.now_ms,
            last_contact_ms=controller.cluster.last_contact_ms,
            active_since_ms=controller.cluster.active_since_ms,
            use=use,
        )

    def _with_undo_bundle(self, decision: FeatureUpdateDecision, controller: Controller) -> FeatureUpdateDecision:
        """Write the undo bundle before the first record is appended; without it the update is refused."""
        image = controller.state.image
        kraft_version, voters = self._raft.voters_before(self._raft.end_offset)
        bundle = live_bundle(
            image, decision.levels, cluster_id=self._step.cluster_id, kraft_version=kraft_version, voters=voters
        )
        directory = self._undo_directory
        before = controller.state.metadata_version
        after = MetadataVersion.of_level(decision.levels.get(METADATA_VERSION, before.level))
        path = f"{directory}/{self._step.cluster_id}-{controller.state.next_offset}-{before}-{after}.zip"
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
        """Not in a log directory: those may be formatted again, or belong to Kafka's own nodes."""
        config = self._step.config
        return config.undo_dir or f"{config.metadata_log_dir.rstrip('/').rpartition('/')[0]}/{UNDO_DIRECTORY}"

    def _log_losses(self, decision: FeatureUpdateDecision) -> None:
        self._effects(Fact("info", "features-updated", dict(decision.levels)))
        for loss in decision.losses[:LOGGED_LOSSES_MAX]:
            self._effects(Fact("warning", "metadata-lost", loss.reported().as_json()))
        for cut_off in decision.cut_off[:LOGGED_LOSSES_MAX]:
            self._effects(Fact("warning", "cut-off", cut_off.as_json()))
        more = sum(max(len(items) - LOGGED_LOSSES_MAX, 0) for items in (decision.losses, decision.cut_off))
        if more:
            self._effects(Fact("warning", "more-is-lost", {"count": more}))
