"""How a node becomes the active controller, and how it ceases to be.

A leader is active once all that earlier leaders committed is known to be committed, and in its image; it serves when
the records are appended that an activation takes (the bootstrap records of a new cluster).
"""

from __future__ import annotations

from traceback import format_exc
from typing import TYPE_CHECKING

from falkirk.metadata.controller.activation import ActivationError, activation_results, level_warning
from falkirk.metadata.controller.controller import Controller
from falkirk.node.active_controller import ActiveController
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError
from falkirk.node.role_settings import controller_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.bootstrap import BootstrapMetadata
    from falkirk.node.dispatcher import Dispatcher
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.chance import Chance
    from falkirk.raft.output import LeaderAndEpoch


class ControllerRole:
    """Follows the leadership of the quorum."""

    def __init__(
        self,
        state: NodeState,
        *,
        bootstrap: BootstrapMetadata,
        dispatcher: Dispatcher,
        random: Chance,
        effects: Callable[[Effect], None],
    ) -> None:
        self._state = state
        self._settings = controller_settings(state.config, state.cluster_id)
        self._bootstrap = bootstrap
        self._dispatcher = dispatcher
        self._random = random
        self._effects = effects

    def leader_changed(self, leader: LeaderAndEpoch) -> None:
        """Take note of who leads; an active controller of another epoch ends here."""
        state = self._state
        is_own = leader.leader_id == state.config.node_id
        if state.active is not None and not (is_own and leader.epoch == state.active.epoch):
            self._renounce(f"leader of epoch {leader.epoch} is {leader.leader_id}")

    def tick(self) -> None:
        """Begin or end to be active, and do what is due while active."""
        state = self._state
        if state.resignation is not None:
            self._resign(state.resignation)
        if state.active is None:
            self._activate_if_ready()
        active = state.serving
        if active is not None:
            try:
                active.catch_up(state.now_ms)
                active.tick(state.now_ms)
                self._dispatcher.answer_overdue()
            except Exception:  # noqa: BLE001 - a fault of ours: told, and nothing goes on with a broken state
                self._failed("periodic work of the controller")
            for broker_id in active.controller.cluster.take_timed_out():
                self._effects(Fact("info", "broker-fenced", {"broker_id": broker_id, "reason": "session timed out"}))
            for refusal in active.controller.cluster.refusals.take():
                fields = {"api": refusal.api, "node_id": refusal.node_id, "error": refusal.error.error_code.name}
                self._effects(Fact("warning", "node-refused", {**fields, "reason": refusal.error.message}))

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        return None if self._state.active is None else self._state.active.next_wakeup_ms

    def _activate_if_ready(self) -> None:
        state, raft = self._state, self._state.raft
        leader = raft.leader
        if leader.leader_id != state.config.node_id or leader.epoch_start_offset is None:
            return
        if state.applied_offset <= leader.epoch_start_offset or state.applied_offset < raft.end_offset:
            return
        try:
            self._activate(leader.epoch)
        except ActivationError as error:
            raise FatalError(str(error)) from error
        except Exception:  # noqa: BLE001 - as in `tick`
            self._failed("activation of the controller")

    def _activate(self, epoch: int) -> None:
        state = self._state
        now_ms = state.now_ms
        controller = Controller(self._settings, state.image, epoch=epoch, random=self._random, now_ms=now_ms)
        active = ActiveController(
            controller,
            state.raft,
            idle_interval_ms=state.config.metadata_max_idle_interval_ms,
            now_ms=now_ms,
        )
        state.active = active
        active.catch_up(now_ms)
        warning = level_warning(controller.state)
        if warning is not None:
            self._effects(Fact("warning", "metadata-version-missing", {"reason": warning}))
        results = activation_results(
            controller.state,
            self._settings,
            self._bootstrap.records,
            open_transaction_offset=state.applier.open_transaction_offset,
        )
        for result in results:
            active.append(result, now_ms)
        records = sum(len(result.records) for result in results)
        fields = {"epoch": epoch, "next_offset": state.raft.end_offset, "bootstrap_records": records}
        self._effects(Fact("info", "controller-activated", fields))

    def _failed(self, what: str) -> None:
        self._effects(Fact("error", "controller-failed", {"what": what, "traceback": format_exc()}))
        self._resign(f"{what} failed")

    def _resign(self, reason: str) -> None:
        """Give up the leadership: another controller, or this one in a later epoch, begins with what is committed."""
        if self._state.active is not None:
            self._renounce(reason)
        self._state.raft.resign(self._state.now_ms)

    def _renounce(self, reason: str) -> None:
        active, self._state.active = self._state.active, None
        self._state.resignation = None
        assert active is not None
        self._effects(Fact("info", "controller-resigned", {"epoch": active.epoch, "reason": reason}))
        for request, _ in active.waiting.drain():
            self._dispatcher.not_controller(request)
