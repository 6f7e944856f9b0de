"""The active controller of this node, for the parts that need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.controller.active_controller import ActiveController
    from falkirk.raft.output import LeaderAndEpoch
    from falkirk.raft.replica import RaftReplica


class Controllership:
    """`active`: None while the node is not the active controller; set by `controller_role`.

    `resignation`: why the active controller must end; set by `resign`, acted on at the end of the step.
    """

    def __init__(self, node_id: int, raft: RaftReplica, wake: Callable[[], None]) -> None:
        self.active: ActiveController | None = None
        self.resignation: str | None = None
        self._node_id = node_id
        self._raft = raft
        self._wake = wake

    @property
    def serving(self) -> ActiveController | None:
        """The active controller, if it may decide now: the replica may have lost its leadership in this very step."""
        return None if self.active is None else self.serving_as(self._raft.leader)

    def serving_as(self, leader: LeaderAndEpoch) -> ActiveController | None:
        """Return the active controller if it may decide under this leader of the quorum."""
        active = self.active
        if active is None or self.resignation is not None:
            return None
        is_own = leader.leader_id == self._node_id and leader.epoch == active.epoch
        return active if is_own else None

    def resign(self, reason: str) -> None:
        """Stop the active controller at the end of the step: its state cannot be trusted."""
        if self.active is not None and self.resignation is None:
            self.resignation = reason
            self._wake()

    def lengthen_log(self, now_ms: int) -> None:
        """Append a NoOpRecord if this node is the active controller."""
        active = self.serving
        if active is not None:
            active.catch_up(now_ms)
            active.append_no_op(now_ms)
