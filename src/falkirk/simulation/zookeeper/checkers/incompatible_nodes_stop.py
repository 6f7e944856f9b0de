"""IncompatibleNodesStop: a broker incompatible with the finalized features does not register, and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.broker_znode import broker_path, decode_broker
from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker
from falkirk.zookeeper_node.session.operations import Create

if TYPE_CHECKING:
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.zookeeper.world.ensemble import Transaction
    from falkirk.simulation.zookeeper.world.features_truth import FeaturesTruth
    from falkirk.simulation.zookeeper.world.machine import Machine, Reading, Writer
    from falkirk.zookeeper_node.session.operations import Operation


class IncompatibleNodesStop(ZooKeeperChecker):
    """`bound_ms`: the longest time to read new features, with lost and late watches. Source: KIP-584, protections."""

    def __init__(self, truth: FeaturesTruth, clock: Clock, bound_ms: int) -> None:
        self._truth = truth
        self._clock = clock
        self._bound_ms = bound_ms

    def committed(self, transaction: Transaction, writer: Writer | None) -> None:
        """Check the content of registrations."""
        if writer is None or not writer.is_alive:
            return
        machine = writer.machine
        for change in transaction.changes:
            if change.after is None or change.path != broker_path(machine.node_id):
                continue
            reported = decode_broker(change.after.data, change.path).features
            supported = dict(machine.supported) if machine.has_features else None
            if reported != supported:
                raise self.violated(f"{machine.name} tells that it supports {reported}, and supports {supported}")

    def requested(self, machine: Machine, operation: Operation) -> None:
        """Check that a node that registers may do so."""
        if isinstance(operation, Create) and operation.path == broker_path(machine.node_id):
            self._registers(machine)

    def tick(self, machine: Machine) -> None:
        """Check that the node should not have stopped by now."""
        state, link = self._truth.now.state, machine.link
        if state is None or link is None or link.heard_since_ms is None or not machine.has_features:
            return
        since_ms = max(self._truth.now.at_ms, link.heard_since_ms, machine.started_at_ms)
        if self._clock.now_ms - since_ms > self._bound_ms and incompatibilities(machine.supported, state):
            raise self.violated(
                f"{machine.name} has been running for {self._clock.now_ms - since_ms} ms with "
                f"{'; '.join(incompatibilities(machine.supported, state))}"
            )

    def _registers(self, machine: Machine) -> None:
        """Check the features that the node had read when it registers; an unreadable znode changes nothing."""
        if not machine.has_features:
            return
        faults = [self._fault(machine, reading) for reading in (machine.read_before, machine.known.reading)]
        if all(faults):
            raise self.violated(f"{machine.name} registers though {faults[0]}")

    def _fault(self, machine: Machine, reading: Reading) -> str | None:
        if not reading.is_known:
            return "it has not read the features"
        if reading.state is None:
            return "the features could not be read" if reading.is_malformed else None
        return "; ".join(incompatibilities(machine.supported, reading.state)) or None
