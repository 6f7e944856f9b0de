"""NodesStopForAReason: a node that stops with an error had read something that requires it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.broker_znode import broker_path
from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker
from falkirk.simulation.zookeeper.world.machine import CONNECTION_TIMEOUT_MS, SESSION_TIMEOUT_MS
from falkirk.zookeeper_node.session.operations import Done, Failed, KeeperError, Znode

if TYPE_CHECKING:
    from falkirk.node.effects import Stop
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.zookeeper.world.machine import Machine
    from falkirk.zookeeper_node.session.operations import Answer, Operation

INCOMPATIBLE: Final = "incompatible features"
"""The reason when supported and finalized features are incompatible."""


class NodesStopForAReason(ZooKeeperChecker):
    """Reasons: incompatible or unreadable features, no ZooKeeper for too long, or a second broker with its id."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By process: since when it has known that another session has its znode.
        self._twins: dict[tuple[str, int], int] = {}

    def heard(self, machine: Machine, operation: Operation, answer: Answer) -> None:
        """Record whether another session owns the broker's znode, as this process knows it."""
        if operation_path(operation) != broker_path(machine.node_id) or machine.link is None:
            return
        process = machine.name, machine.host.starts
        is_others = isinstance(answer, Znode) and answer.ephemeral_owner != machine.link.session_id
        if is_others or answer == Failed(KeeperError.NODE_EXISTS):
            self._twins.setdefault(process, self._clock.now_ms)
        elif isinstance(answer, (Done, Znode)) or answer == Failed(KeeperError.NO_NODE):
            self._twins.pop(process, None)

    def stopped(self, machine: Machine, stop: Stop) -> str:
        """Return the reason in a few words."""
        if stop.exit_code == 0:
            return "as asked"
        now_ms = self._clock.now_ms
        found = self._fault(machine)
        if found is not None:
            return found
        alone_since_ms = machine.alone_since_ms
        # The host's clock may be a step ahead.
        if alone_since_ms is not None and now_ms - alone_since_ms >= CONNECTION_TIMEOUT_MS - 1:
            return "no ZooKeeper"
        twin_since_ms = self._twins.get((machine.name, machine.host.starts))
        if twin_since_ms is not None and now_ms - twin_since_ms >= SESSION_TIMEOUT_MS - 1:
            return "second of its id"
        raise self.violated(f"{machine.name} stopped with {stop.exit_code}: {stop.reason}")

    def _fault(self, machine: Machine) -> str | None:
        """Return what is wrong with the features that the node has read; None if nothing."""
        if not machine.has_features:
            return None
        known = machine.known
        if known.is_malformed:
            return "malformed features"
        is_incompatible = known.state is not None and incompatibilities(machine.supported, known.state)
        return INCOMPATIBLE if is_incompatible else None


def operation_path(operation: Operation) -> str | None:
    """Return the path of an operation's znode; None if it has none."""
    return getattr(operation, "path", None)
