"""Clusters whose level can be lowered, and the record that lowers it."""

from __future__ import annotations

from node_network import NodeNetwork, controller_endpoint

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

HIGH, LOW = MetadataVersion.parse("4.2-IV1"), MetadataVersion.parse("4.1-IV1")


def a_cluster(*, unmarked: tuple[int, ...] = (), **settings) -> NodeNetwork:
    """Make nodes 1 and 2 (controllers), 3 (combined) and brokers 101 and 102, at a level that can be lowered."""
    network = NodeNetwork(release="4.3")
    voters = {node_id: controller_endpoint(node_id) for node_id in (1, 2, 3)}
    roles = {1: {CONTROLLER}, 2: {CONTROLLER}, 3: {BROKER, CONTROLLER}, 101: {BROKER}, 102: {BROKER}}
    for node_id, has in roles.items():
        shown = {"downgrade_enable": node_id not in unmarked}
        network.add(node_id, roles=has, quorum_voters=voters, level=HIGH, **shown, **settings)
        network.start(node_id)
    network.run_until(
        lambda: all(network.hosts[each].running.broker.state is BrokerState.RUNNING for each in (3, 101, 102))
    )
    network.run_until(lambda: len(network.active.running.image.cluster.controllers) == 3)
    return network


def append_lowering(network: NodeNetwork, to: MetadataVersion = LOW) -> int:
    """Let the active controller append the record; return its offset."""
    running = network.active.running
    controller, now_ms = running._controllership.serving, running._step.now_ms
    record = VersionedRecord(FeatureLevelRecord(METADATA_VERSION, to.level), 0)
    offset = running.raft.end_offset
    controller.catch_up(now_ms)
    controller.append(ControllerResult((record,), None), now_ms)
    running._step.wake()
    running._due_ms = now_ms
    return offset


def is_clean(network: NodeNetwork, node_id: int, lowered_at: int) -> bool:
    log = network.hosts[node_id].running.log
    return log.start_offset > lowered_at and not log.lowerings
