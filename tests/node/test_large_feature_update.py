"""Updates of features with more records than a batch holds: a metadata transaction (KIP-868), or nothing of it."""

import pytest
from node_network import NodeNetwork

from falkirk.metadata.controller.state import operation_limit
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.controller import active_controller
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import PartitionRecord, TopicRecord, UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType

UPGRADE, _, UNSAFE = UpgradeType
ELR = "eligible.leader.replicas.version"
TOPIC_ID = b"t" * 16
PARTITIONS = 9
SCRUBBED, STOPPED = ((7,), ()), ((), (7,))


@pytest.fixture
def network(monkeypatch):
    """Controllers 1 to 3, with partitions that have nothing but an eligible replica each."""
    monkeypatch.setattr(operation_limit, "RECORDS_MAX", 4)
    monkeypatch.setattr(active_controller, "BATCH_RECORDS_MAX", 4)
    network = NodeNetwork(release="4.4")
    network.add_controllers(3)
    network.run_until(lambda: network.active)
    network.run_until(lambda: len(network.active.running.image.cluster.controllers) == 3)
    assert lowered(network, (ELR, 1, UPGRADE)) == ErrorCode.NONE
    records = [VersionedRecord(TopicRecord("orders", TOPIC_ID), 0)]
    for number in range(PARTITIONS):
        record = PartitionRecord(
            number, TOPIC_ID, (7,), leader=-1, eligible_leader_replicas=(7,), directories=(TOPIC_ID,)
        )
        records.append(VersionedRecord(record, 2))
    append(network, ControllerResult(tuple(records), None, is_atomic=False))
    network.run_until(lambda: all(image.topics.topic("orders") for image in images(network)))
    return network


def append(network, result):
    """Let the active controller append what it was not requested."""
    running = network.active.running
    controller, now_ms = running._controllership.serving, running._step.now_ms
    controller.catch_up(now_ms)
    controller.append(result, now_ms)
    running._step.wake()
    running._due_ms = now_ms


def images(network):
    return [host.running.image for host in network.running]


def levels(network):
    return [image.features.levels() for image in images(network)]


def replicas(network):
    """Return what ISRs and eligible replicas there are, on all nodes."""
    return {
        (each.isr, each.eligible_leader_replicas)
        for image in images(network)
        for _, each in image.topics.topic("orders").items()
    }


def request(*updates):
    keys = [FeatureUpdateKey(name, level, upgrade_type=type_) for name, level, type_ in updates]
    return UpdateFeaturesRequest(feature_updates=keys)


def lowered(network, *updates):
    return network.client(network.active.config.node_id).ask(request(*updates), 2).error_code


@pytest.mark.slow
def test_all_of_it_takes_effect_on_every_node_and_metadata_version_with_it(network):
    assert replicas(network) == {STOPPED}
    assert lowered(network, ("metadata.version", 22, UNSAFE), (ELR, 0, UNSAFE)) == ErrorCode.NONE
    network.run_until(lambda: all(each == {"metadata.version": 22} for each in levels(network)))
    assert replicas(network) == {SCRUBBED}
    # Every node goes on from a snapshot behind it, as from any lowering.
    network.run_until(lambda: all(not host.running.log.lowerings for host in network.running))
    for node_id in network.hosts:
        network.restart(node_id)
    network.run_until(lambda: network.active)
    network.run_until(
        lambda: len(images(network)) == 3 and all(image.topics.topic("orders") for image in images(network))
    )
    assert replicas(network) == {SCRUBBED}


@pytest.mark.slow
def test_a_leader_that_dies_before_the_last_batch_leaves_all_as_it_was(network, monkeypatch):
    """The next one aborts what was begun, and the update can be made anew."""
    before = levels(network)
    whole = active_controller.ActiveController.append

    def without_end(self, result, now_ms):
        if result.transaction:
            result = ControllerResult(result.transaction, result.response, is_atomic=False)
        return whole(self, result, now_ms)

    monkeypatch.setattr(active_controller.ActiveController, "append", without_end)
    leader = network.active
    updates = ("metadata.version", 22, UNSAFE), (ELR, 0, UNSAFE)
    network.client(leader.config.node_id).send(request(*updates), 2)
    others = [host for host in network.running if host is not leader]
    network.run_until(lambda: all(host.running._applier.open_transaction_offset for host in others))
    assert (levels(network), replicas(network)) == (before, {STOPPED})
    network.kill(leader.config.node_id)
    monkeypatch.undo()
    monkeypatch.setattr(operation_limit, "RECORDS_MAX", 4)
    network.run_until(lambda: network.active)
    network.start(leader.config.node_id)
    network.run_until(lambda: all(host.running._applier.open_transaction_offset is None for host in network.running))
    network.run_until(lambda: all(image.topics.topic("orders") for image in images(network)))
    assert (levels(network), replicas(network)) == (before, {STOPPED})
    assert lowered(network, *updates) == ErrorCode.NONE
    network.run_until(lambda: all(each == {"metadata.version": 22} for each in levels(network)))
    assert replicas(network) == {SCRUBBED}
