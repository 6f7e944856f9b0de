"""How a node becomes the active controller, and stops being it.

A leader is active once all that earlier leaders committed is committed here, in its image and in the indexes of that;
it serves when the records of its activation (the bootstrap records of a new cluster) are appended.
"""

from __future__ import annotations

from traceback import format_exc
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.metadata.controller.activation import ActivationError, activation_results, level_warning
from falkirk.metadata.controller.controller import Controller
from falkirk.node.config.role_settings import controller_settings
from falkirk.node.controller.active_controller import ActiveController
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.controller.controllership import Controllership
    from falkirk.node.controller.standby_indexes import StandbyIndexes
    from falkirk.node.effects import Effect
    from falkirk.node.metadata_log.bootstrap import BootstrapMetadata
    from falkirk.node.metadata_log.metadata_applier import MetadataApplier
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import Step
    from falkirk.raft.output import LeaderAndEpoch
    from falkirk.raft.replica import RaftReplica

# What an operator reads; the rest is counted.
_ELECTIONS_NAMED_MAX: Final = 100


class Responder(Protocol):
    """Answers requests to the active controller that wait for a commit."""

    def answer_committed(self, applied_offset: int) -> None:
        """Answer requests whose records are committed and in the image."""
        ...

    def answer_overdue(self) -> None:
        """Answer REQUEST_TIMED_OUT where the deadline has passed."""
        ...

    def not_controller(self, request: OpenRequest) -> None:
        """Answer NOT_CONTROLLER."""
        ...


class ControllerRole:
    """Follows the leadership of the quorum."""

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        applier: MetadataApplier,
        controllership: Controllership,
        standby: StandbyIndexes,
        *,
        bootstrap: BootstrapMetadata,
        responder: Responder,
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._raft = raft
        self._applier = applier
        self._controllership = controllership
        self._standby = standby
        self._settings = controller_settings(step.config, step.cluster_id)
        self._bootstrap = bootstrap
        self._responder = responder
        self._effects = effects

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Follow a change of the leader; the active controller of another epoch ends."""
        active = self._controllership.active
        is_own = leader.leader_id == self._step.config.node_id
        if active is not None and not (is_own and leader.epoch == active.epoch):
            self._renounce(f"leader of epoch {leader.epoch} is {leader.leader_id}")

    def tick(self) -> None:
        """Become or stop being active, and do the active controller's periodic work."""
        controllership, now_ms = self._controllership, self._step.now_ms
        if controllership.resignation is not None:
            self._resign(controllership.resignation)
        if controllership.active is None:
            self._activate_if_ready()
        active = controllership.serving
        if active is not None:
            try:
                active.catch_up(now_ms)
                if not active.is_operating:
                    active.tick(now_ms)
                    self._decide_what_is_due(active)
                self._responder.answer_overdue()
            except Exception:  # noqa: BLE001 - our own fault: log it, and resign, because state may be broken
                self._failed("periodic work of the controller")
            for broker_id in active.controller.cluster.pop_timed_out():
                self._effects(Fact("info", "broker-fenced", {"broker_id": broker_id, "reason": "session timed out"}))
            self._report_unclean_elections(active)
            for refusal in active.controller.cluster.refusals.pop_unreported():
                fields = {"api": refusal.api, "node_id": refusal.node_id, "error": refusal.error.error_code.name}
                self._effects(Fact("warning", "node-refused", {**fields, "reason": refusal.error.message}))

    def _report_unclean_elections(self, active: ActiveController) -> None:
        elections = active.pop_unclean_elections()
        if elections:
            named = [each._asdict() for each in elections[:_ELECTIONS_NAMED_MAX]]
            fields = {"count": len(elections), "partitions": named}
            self._effects(Fact("warning", "leaders-elected-uncleanly", fields))

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        active = self._controllership.active
        return None if active is None else active.next_wakeup_ms

    def _decide_what_is_due(self, active: ActiveController) -> None:
        """Decide what time has made due: a decision at once, and those that follow one in a step."""
        if active.are_decisions_due(self._step.now_ms):
            self._step.works.begin("decisions of the controller", self._decide(active))

    def _decide(self, active: ActiveController) -> Slices:
        while self._controllership.serving is active:
            try:
                if not active.is_operating and not active.decide_next(self._step.now_ms):
                    return
            except Exception:  # noqa: BLE001 - as in `tick`
                self._failed("periodic work of the controller")
                return
            yield

    def _activate_if_ready(self) -> None:
        leader, applied_offset = self._raft.leader, self._applier.applied_offset
        if leader.leader_id != self._step.config.node_id or leader.epoch_start_offset is None:
            return
        if applied_offset <= leader.epoch_start_offset or applied_offset < self._raft.end_offset:
            return
        indexes = self._standby.current
        if indexes is None:
            return  # a later step finishes them
        try:
            self._activate(leader.epoch, indexes)
        except ActivationError as error:
            raise FatalError(str(error)) from error
        except Exception:  # noqa: BLE001 - as in `tick`
            self._failed("activation of the controller")

    def _activate(self, epoch: int, indexes: ControllerIndexes) -> None:
        step, now_ms = self._step, self._step.now_ms
        controller = Controller(
            self._settings, self._applier.image, indexes, epoch=epoch, random=step.random, now_ms=now_ms
        )
        active = ActiveController(
            controller,
            self._raft,
            idle_interval_ms=step.config.metadata_max_idle_interval_ms,
            now_ms=now_ms,
        )
        self._controllership.active = active
        active.catch_up(now_ms)
        warning = level_warning(controller.state)
        if warning is not None:
            self._effects(Fact("warning", "metadata-version-missing", {"reason": warning}))
        results = activation_results(
            controller.state,
            self._settings,
            self._bootstrap.records,
            open_transaction_offset=self._applier.open_transaction_offset,
        )
        for result in results:
            active.append(result, now_ms)
        records = sum(len(result.records) for result in results)
        fields = {"epoch": epoch, "next_offset": self._raft.end_offset, "bootstrap_records": records}
        self._effects(Fact("info", "controller-activated", fields))

    def _failed(self, what: str) -> None:
        self._effects(Fact("error", "controller-failed", {"what": what, "traceback": format_exc()}))
        self._resign(f"{what} failed")

    def _resign(self, reason: str) -> None:
        """Resign as the leader: another controller, or this one in a later epoch, starts from what is committed."""
        if self._controllership.active is not None:
            self._renounce(reason)
        self._raft.resign(self._step.now_ms)

    def _renounce(self, reason: str) -> None:
        active, self._controllership.active = self._controllership.active, None
        self._controllership.resignation = None
        assert active is not None
        self._effects(Fact("info", "controller-resigned", {"epoch": active.epoch, "reason": reason}))
        for request, _ in active.waiting.drain():
            self._responder.not_controller(request)
