"""Configs of resource types that a release has never heard of end no node, and are there again after an upgrade.

KIP-915 asks it of controllers: configs of groups (type 32, since 4.0) are left over when a cluster goes back.
"""

import dataclasses

import pytest
from node_network import (
    BROKER_LISTENER,
    CONTROLLER_LISTENER,
    LOG_DIR,
    START_MS,
    NodeNetwork,
    controller_endpoint,
)

from falkirk.metadata.image.configs import GROUP
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterConfigsRequest,
    ConfigRecord,
    DescribeConfigsRequest,
    FeatureLevelRecord,
)
from falkirk.protocol.messages.alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.storage.bootstrap_checkpoint import FILE_NAME, write_bootstrap_checkpoint
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release

FROM_LATER = 64
CONFIGS = [
    ((GROUP, "g"), "consumer.session.timeout.ms", "50000"),
    ((FROM_LATER, "g"), "a.config", "1"),
]


def running_node(release: str) -> NodeNetwork:
    """Start a node whose metadata has the configs from its first batch on."""
    network = NodeNetwork(release=release)
    host = network.add(
        1,
        roles={CONTROLLER, BROKER},
        quorum_voters={1: controller_endpoint(1)},
        metadata_log_max_snapshot_interval_ms=60_000,
    )
    level = FeatureLevelRecord(METADATA_VERSION, network.release.latest_metadata_version.level)
    configs = [ConfigRecord(*resource, name, value) for resource, name, value in CONFIGS]
    values = [encode_metadata_record(*VersionedRecord(record, 0)) for record in (level, *configs)]
    host.disk.write(f"{LOG_DIR}/{FILE_NAME}", write_bootstrap_checkpoint(values, clock=lambda: START_MS))
    network.start(1)
    runs(network)
    return network


def runs(network: NodeNetwork) -> None:
    network.run_until(lambda: network.hosts[1].running.broker.state is BrokerState.RUNNING)


def configs(network: NodeNetwork):
    return list(network.hosts[1].running.image.configs)


@pytest.mark.parametrize("release", ["3.7", "3.9"])
def test_they_are_loaded_written_to_snapshots_and_there_again_in_a_release_that_knows_them(release):
    network = running_node(release)
    assert configs(network) == CONFIGS
    network.run_until(lambda: network.facts("snapshot-written"), within_ms=120_000)
    host = network.hosts[1]
    host.config = dataclasses.replace(host.config, release=Release.parse("4.3"))
    network.restart(1)
    runs(network)
    assert configs(network) == CONFIGS
    resource = DescribeConfigsResource(GROUP, "g", ["consumer.session.timeout.ms"])
    (answer,) = network.client(1, BROKER_LISTENER).ask(DescribeConfigsRequest([resource]), 4).results
    assert [(each.name, each.value) for each in answer.configs] == [("consumer.session.timeout.ms", "50000")]


def test_whoever_asks_for_them_is_refused_and_nothing_changes():
    network = running_node("3.7")
    broker = network.client(1, BROKER_LISTENER)
    for resource_type in (GROUP, FROM_LATER):
        (answer,) = broker.ask(DescribeConfigsRequest([DescribeConfigsResource(resource_type, "g")]), 4).results
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        resource = AlterConfigsResource(resource_type, "g", [AlterableConfig("a", "2")])
        for listener, code in (
            (BROKER_LISTENER, ErrorCode.INVALID_REQUEST),
            (CONTROLLER_LISTENER, ErrorCode.UNSUPPORTED_VERSION),
        ):
            (changed,) = network.client(1, listener).ask(AlterConfigsRequest([resource]), 1).responses
            assert changed.error_code == code
    assert configs(network) == CONFIGS
