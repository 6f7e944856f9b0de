"""Feature updates at the active controller, one at a time (KIP-584)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from traceback import format_exc
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext, FeatureUpdateDecision
from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.requests.bounded_text import bounded_text
from falkirk.node.controller.coordinator_survey import CoordinatorSurvey
from falkirk.node.controller.lowering_update import LoweringUpdate
from falkirk.node.controller.undo_bundles import UndoBundles
from falkirk.node.effects import Fact
from falkirk.node.metadata_log.level_changes import LOGGED_LOSSES_MAX
from falkirk.node.sliced_work import WorkCancelledError, cancel_slices
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import allows_aborts
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse
    from falkirk.metadata.controller.features.feature_update import Assess
    from falkirk.metadata.controller.features.lowering_work import LoweringPlan
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.publishing.level_change import LevelChange
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.controller.active_controller import ActiveController
    from falkirk.node.controller.controllership import Controllership
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.disk import Disk

    Done: TypeAlias = Callable[[ControllerResult[UpdateFeaturesResponse] | None], None]

# The limit of a survey, whatever the timeout of the request.
SURVEY_MS_MAX: Final = 10 * 60 * 1000


class FeatureUpdates:
    """Decides on feature updates.

    Most are decided at once. While one waits for a survey of the coordinators' topics, for the end of transactions, or
    for what is lost to be worked out, others are refused. Differs from Kafka: the timeout of a request covers all of
    it, including the commit.
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
        self._outbound = outbound
        self._effects = effects
        self._bundles = UndoBundles(step, raft, disk, effects)
        # What coordinators lose by the update that was appended last: its offset and epoch, and the losses.
        self._cut_off: tuple[int, int, Sequence[ReportedLoss]] = (-1, -1, ())
        # The update that is under way.
        self._busy: _Update | None = None

    def start(self, request: UpdateFeaturesRequest, api_version: int, done: Done) -> None:
        """Decide on an update, now or over many steps; `done` gets None if this is not the active controller."""
        active = self._controllership.serving
        if active is None:
            done(None)
            return
        if self._busy is not None and self._busy.active is active:
            busy = ApiError(ErrorCode.FEATURE_UPDATE_FAILED, "Another update of features is under way. Try it later.")
            refused = active.controller.features.refused(request, api_version, busy)
            self._log(refused)
            done(refused.result())
            return
        now_ms = self._step.now_ms
        update = _Update(request, api_version, active, now_ms, now_ms + max(request.timeout_ms, 0), done)
        decision = self._decide(update, _not_assessed)
        if decision.needs_survey:
            self._survey(update, decision)
        else:
            self._go_on(update, decision)

    def _survey(self, update: _Update, decision: FeatureUpdateDecision) -> None:
        deadline_ms = min(update.deadline_ms, self._step.now_ms + SURVEY_MS_MAX)
        self._busy = update

        def surveyed(use: CoordinatorUse) -> None:
            self._end(update)
            update.use = use
            decided = self._decide_again(update)
            if decided is None:
                update.done(None)
            elif use.unended:
                reason = f"Open transactions have not ended in time: {bounded_text(use.unended, '; ')}"
                late = ApiError(ErrorCode.REQUEST_TIMED_OUT, reason)
                self._finish(update, decided.refused(late, tuple(each.reported() for each in use.unended)))
            elif self._step.now_ms >= deadline_ms:
                late = ApiError(ErrorCode.REQUEST_TIMED_OUT, "What coordinators have in use was not found out in time.")
                self._finish(update, decided.refused(late))
            else:
                self._go_on(update, decided)

        CoordinatorSurvey(
            self._step,
            self._metadata,
            self._outbound,
            decision.topics_to_survey,
            deadline_ms=deadline_ms,
            done=surveyed,
            waits=_waits_for_transactions(update.request),
            aborts=allows_aborts(update.request.unknown_tagged_fields),
        ).start()

    def _decide_again(self, update: _Update) -> FeatureUpdateDecision | None:
        """Decide on an update that was looked into; None if this is not the active controller, or fails at it."""
        if self._controllership.serving is not update.active:
            return None
        try:
            return self._decide(update, _not_assessed)
        except Exception:  # noqa: BLE001 - our own fault: log it, and resign, because state may be broken
            self._failed()
            return None

    def _failed(self) -> None:
        """Resign because of a failure of our own; call it inside an `except` block."""
        what = "update of features"
        self._effects(Fact("error", "controller-failed", {"what": what, "traceback": format_exc()}))
        self._controllership.resign(f"{what} failed")

    def _go_on(self, update: _Update, decision: FeatureUpdateDecision) -> None:
        """Answer what is decided; what a lowering does is worked out first, as sliced work."""
        if decision.plan is None:
            self._finish(update, decision)
        else:
            self._busy = update
            self._step.works.start("feature update", self._lower(update, decision))

    def _lower(self, update: _Update, undecided: FeatureUpdateDecision) -> Slices:
        """Decide on a lowering and answer, unless the leadership is lost or the deadline has passed before."""
        lowering = LoweringUpdate(
            update.active.controller.state,
            decide=partial(self._decide, update),
            bundles=self._bundles,
            effects=self._effects,
        )
        slices = lowering.slices()
        try:
            while True:
                is_active = self._controllership.serving is update.active
                if not is_active or self._step.now_ms >= update.deadline_ms > update.started_ms:
                    cancel_slices(slices)
                    self._end(update)
                    late = ApiError(ErrorCode.REQUEST_TIMED_OUT, "What would be lost was not found out in time.")
                    if is_active:
                        self._finish(update, undecided.refused(late))
                    else:
                        update.done(None)
                    return
                try:
                    next(slices)
                except StopIteration as end:
                    decision: FeatureUpdateDecision = end.value
                    self._end(update)
                    self._answer(update, decision)
                    # The step that decides is long enough.
                    yield
                    self._log(decision)
                    return
                except Exception:  # noqa: BLE001 - as above
                    self._failed()
                    continue
                yield
        except WorkCancelledError:
            cancel_slices(slices)
            self._end(update)
            raise

    def _end(self, update: _Update) -> None:
        if self._busy is update:
            self._busy = None

    def _decide(self, update: _Update, assess: Assess) -> FeatureUpdateDecision:
        update.active.catch_up(self._step.now_ms)
        controller = update.active.controller
        return controller.features.update_features(update.request, self._context(controller, update, assess))

    def _finish(self, update: _Update, decision: FeatureUpdateDecision) -> None:
        self._log(decision)
        self._answer(update, decision)

    def _answer(self, update: _Update, decision: FeatureUpdateDecision) -> None:
        """Return the decision for appending; it must be committed by the deadline."""
        if decision.is_made and decision.is_kraft_version_raised:
            self._raft.raise_kraft_version(self._step.now_ms)
            update.active.catch_up(self._step.now_ms)
        if decision.is_made:
            self._cut_off = update.active.controller.state.next_offset, self._raft.epoch, decision.cut_off
        update.done(replace(decision.result(), answer_by_ms=update.deadline_ms))

    def _log(self, decision: FeatureUpdateDecision) -> None:
        if decision.is_made:
            for voter in decision.left_behind:
                fields = {**voter.key_fields, "reason": voter.detail}
                self._effects(Fact("warning", "voter-left-behind", fields))
        elif decision.is_refused and not decision.request.validate_only:
            errors = {name: error.message for name, error in decision.errors.items()}
            fields = {"errors": errors, "blockers": decision.details.blockers}
            self._effects(Fact("warning", "feature-update-refused", fields))

    def _context(self, controller: Controller, update: _Update, assess: Assess) -> FeatureUpdateContext:
        raft = self._raft
        return FeatureUpdateContext(
            api_version=update.api_version,
            kraft_version=raft.kraft_version,
            kraft_version_refusal=raft.kraft_version_refusal,
            voters=raft.voters.keys(),
            lowering_support=raft.lowering_support(self._step.now_ms),
            silent_voters=raft.silent_voters(self._step.now_ms, since_ms=controller.cluster.active_since_ms),
            now_ms=self._step.now_ms,
            last_contact_ms=controller.cluster.last_contact_ms,
            active_since_ms=controller.cluster.active_since_ms,
            use=update.use,
            assess=assess,
        )

    # --- Updates that are committed

    def committed(self, change: LevelChange) -> None:
        """Report what coordinators lose, if this controller has decided on the change."""
        offset, epoch, cut_off = self._cut_off
        if (offset, epoch) != (change.offset, change.epoch):
            return
        for loss in cut_off[:LOGGED_LOSSES_MAX]:
            self._effects(Fact("warning", "cut-off", loss.as_json()))
        if len(cut_off) > LOGGED_LOSSES_MAX:
            self._effects(Fact("warning", "more-is-lost", {"count": len(cut_off) - LOGGED_LOSSES_MAX}))

    def keep(self, change: LevelChange) -> Slices:
        """Write the bundle that undoes a change, unless it is there already."""
        return self._bundles.keep(change)


@dataclass(slots=True)
class _Update:
    """One request: who decides on it, until when, and what its answer goes to."""

    request: "UpdateFeaturesRequest"
    api_version: int
    active: "ActiveController"
    started_ms: int
    deadline_ms: int
    done: "Done"
    use: "CoordinatorUse | None" = None


def _waits_for_transactions(request: UpdateFeaturesRequest) -> bool:
    """Return whether an update lowers transaction.version whatever is open: then it waits for what is."""
    return not request.validate_only and any(
        each.feature == TRANSACTION_VERSION and each.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE
        for each in request.feature_updates
    )


def _not_assessed(_plan: LoweringPlan) -> None:
    """Leave what a lowering does to be worked out over many steps."""
