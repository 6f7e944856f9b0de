"""What somebody gets who is authenticated and stands in no ACL: every API of both kinds of listeners, one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork
from sasl_clients import logged_in, login, secured

from falkirk.node.config.node_config import BROKER
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import REQUESTS, CreateTopicsRequest, message_class
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release
from falkirk.versions.unbuilt import served_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.schema import WireStruct

RELEASE = Release.parse("4.3")
ROLES = {CONTROLLER_LISTENER: Listener.CONTROLLER, BROKER_LISTENER: Listener.BROKER}
PARTITION = {"partitions": [{"partition_index": 0}]}
LEADER = {"leader_id": 1, "leader_epoch": 1}
PATTERN = {"resource_type": 2, "resource_name": "secret", "principal": "User:a", "host": "*", "operation": 3}
FILTER = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
ENTITY = {"entity_type": "user", "entity_name": "a"}
CONFIG = {"resource_type": 2, "resource_name": "secret"}
METADATA = {"topic_name": "__cluster_metadata"}
NONE: set[str] = set()
# Stands for the topic's own.
OWN_ID = bytes(16)

# What is asked, and the error codes that come back, empty where nothing is told.
TABLE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "Produce": (
        {
            "acks": 1,
            "timeout_ms": 1000,
            "topic_data": [{"topic_id": OWN_ID, "partition_data": [{"index": 0}]}],
        },
        {"TOPIC_AUTHORIZATION_FAILED"},
    ),
    "Fetch": (
        {"topics": [{"topic_id": OWN_ID, "partitions": [{"partition": 0}]}]},
        {"TOPIC_AUTHORIZATION_FAILED"},
    ),
    "ListOffsets": ({"topics": [{"name": "secret", **PARTITION}]}, {"TOPIC_AUTHORIZATION_FAILED"}),
    "Metadata": ({"topics": [{"name": "secret"}]}, {"TOPIC_AUTHORIZATION_FAILED"}),
    "OffsetCommit": ({"group_id": "g", "topics": [{"topic_id": OWN_ID, **PARTITION}]}, {"GROUP"}),
    "OffsetFetch": ({"groups": [{"group_id": "g", "topics": None}]}, {"GROUP"}),
    "FindCoordinator": ({"coordinator_keys": ("g",)}, {"GROUP"}),
    "JoinGroup": ({"group_id": "g", "session_timeout_ms": 10_000, "protocol_type": "consumer"}, {"GROUP"}),
    "Heartbeat": ({"group_id": "g"}, {"GROUP"}),
    "LeaveGroup": ({"group_id": "g"}, {"GROUP"}),
    "SyncGroup": ({"group_id": "g", "protocol_type": "consumer", "protocol_name": "range"}, {"GROUP"}),
    "DescribeGroups": ({"groups": ("g",)}, {"GROUP"}),
    "ListGroups": ({}, NONE),
    "DeleteGroups": ({"groups_names": ("g",)}, {"GROUP"}),
    "OffsetDelete": ({"group_id": "g"}, {"GROUP"}),
    "WriteTxnMarkers": ({"markers": [{"topics": [{"name": "secret", "partition_indexes": [0]}]}]}, {"CLUSTER"}),
    "TxnOffsetCommit": (
        {"transactional_id": "t", "group_id": "g", "topics": [{"name": "secret", "topic_id": OWN_ID, **PARTITION}]},
        {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
    ),
    # Before anything else: group.version is not finalized here.
    "ConsumerGroupHeartbeat": ({"group_id": "g", "member_id": "m"}, {"UNSUPPORTED_VERSION"}),
    "ConsumerGroupDescribe": ({"group_ids": ("g",)}, {"UNSUPPORTED_VERSION"}),
    "SaslHandshake": ({"mechanism": "PLAIN"}, {"ILLEGAL_SASL_STATE"}),
    "ApiVersions": ({"client_software_name": "a", "client_software_version": "1"}, NONE),
    "CreateTopics": ({"topics": [{"name": "mine", "num_partitions": 1, "replication_factor": 1}]}, {"TOPIC"}),
    "DeleteTopics": ({"topics": [{"name": "secret"}]}, {"TOPIC"}),
    "DeleteRecords": ({"topics": [{"name": "secret", **PARTITION}]}, {"TOPIC"}),
    "InitProducerId": ({"transactional_id": None, "transaction_timeout_ms": 1000}, {"CLUSTER"}),
    "OffsetForLeaderEpoch": ({"topics": [{"topic": "secret", "partitions": [{"partition": 0}]}]}, {"TOPIC"}),
    "DescribeAcls": (FILTER, {"CLUSTER"}),
    "CreateAcls": ({"creations": [PATTERN | {"permission_type": 3}]}, {"CLUSTER"}),
    "DeleteAcls": ({"filters": [FILTER]}, {"CLUSTER"}),
    "DescribeConfigs": ({"resources": [CONFIG]}, {"TOPIC"}),
    "AlterConfigs": ({"resources": [CONFIG]}, {"TOPIC"}),
    "DescribeLogDirs": ({"topics": None}, {"CLUSTER"}),
    "AlterReplicaLogDirs": (
        {"dirs": [{"path": "/d0", "topics": [{"name": "secret", "partitions": [0]}]}]},
        {"CLUSTER"},
    ),
    "SaslAuthenticate": ({}, {"ILLEGAL_SASL_STATE"}),
    "CreatePartitions": ({"topics": [{"name": "secret", "count": 2}]}, {"TOPIC"}),
    "CreateDelegationToken": (
        {"owner_principal_type": "User", "owner_principal_name": "bob"},
        {"DELEGATION_TOKEN_AUTHORIZATION_FAILED"},
    ),
    "RenewDelegationToken": ({"hmac": b"x"}, {"DELEGATION_TOKEN_NOT_FOUND"}),
    "ExpireDelegationToken": ({"hmac": b"x"}, {"DELEGATION_TOKEN_NOT_FOUND"}),
    "DescribeDelegationToken": ({"owners": None}, NONE),
    "ElectLeaders": ({"topic_partitions": [{"topic": "secret", "partitions": [0]}]}, {"CLUSTER"}),
    "IncrementalAlterConfigs": ({"resources": [CONFIG]}, {"TOPIC"}),
    "AlterPartitionReassignments": ({"topics": [{"name": "secret", **PARTITION}]}, {"CLUSTER"}),
    "ListPartitionReassignments": ({"topics": None}, {"CLUSTER"}),
    "DescribeClientQuotas": ({}, {"CLUSTER"}),
    "AlterClientQuotas": (
        {"entries": [{"entity": [ENTITY], "ops": [{"key": "producer_byte_rate", "value": 1.0}]}]},
        {"CLUSTER"},
    ),
    "DescribeUserScramCredentials": ({"users": None}, {"CLUSTER"}),
    "AlterUserScramCredentials": ({"deletions": [{"name": "bob", "mechanism": 1}]}, {"CLUSTER"}),
    "Vote": ({"topics": [METADATA | {"partitions": [{"partition_index": 0}]}]}, {"CLUSTER"}),
    "BeginQuorumEpoch": ({"topics": [METADATA | {"partitions": [LEADER]}]}, {"CLUSTER"}),
    "EndQuorumEpoch": ({"topics": [METADATA | {"partitions": [LEADER]}]}, {"CLUSTER"}),
    "DescribeQuorum": ({"topics": [METADATA | {"partitions": [{"partition_index": 0}]}]}, {"CLUSTER"}),
    "AlterPartition": ({"broker_id": 1}, {"CLUSTER"}),
    "Envelope": ({"request_data": b"x", "request_principal": b"x", "client_host_address": b"abcd"}, {"CLUSTER"}),
    "UpdateFeatures": (
        {"feature_updates": [{"feature": "share.version", "max_version_level": 1, "upgrade_type": 1}]},
        {"CLUSTER"},
    ),
    "FetchSnapshot": ({"topics": [{"name": "__cluster_metadata", "partitions": [{"partition": 0}]}]}, {"CLUSTER"}),
    "DescribeCluster": ({"endpoint_type": 1}, NONE),
    "DescribeProducers": ({"topics": [{"name": "secret", "partition_indexes": [0]}]}, {"TOPIC"}),
    "BrokerRegistration": ({"broker_id": 9}, {"CLUSTER"}),
    "BrokerHeartbeat": ({"broker_id": 1}, {"CLUSTER"}),
    "UnregisterBroker": ({"broker_id": 1}, {"CLUSTER"}),
    "AllocateProducerIds": ({"broker_id": 1}, {"CLUSTER"}),
    "ControllerRegistration": ({"controller_id": 1}, {"CLUSTER"}),
    "AssignReplicasToDirs": ({"broker_id": 1}, {"CLUSTER"}),
    "ListConfigResources": ({}, {"CLUSTER"}),
    "DescribeTopicPartitions": ({"topics": [{"name": "secret"}]}, {"TOPIC"}),
    "AddRaftVoter": ({"voter_id": 9}, {"CLUSTER"}),
    "RemoveRaftVoter": ({"voter_id": 1}, {"CLUSTER"}),
    "UpdateRaftVoter": ({"voter_id": 1}, {"CLUSTER"}),
}
# Controllers are for those who run the cluster: what a broker lets everybody do, or asks of topics.
ON_CONTROLLERS: dict[str, set[str]] = {"Fetch": {"CLUSTER"}, "DescribeCluster": {"CLUSTER"}}
SHORT = {
    "TOPIC": "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER": "CLUSTER_AUTHORIZATION_FAILED",
    "GROUP": "GROUP_AUTHORIZATION_FAILED",
}


@pytest.fixture(scope="module")
def network() -> NodeNetwork:
    network = secured(
        BROKER,
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:admin",
        delegation_token_secret_key="key",  # noqa: S106 - a test's
        properties={"delegation.token.secret.key": "key"},
    )
    admin = logged_in(network, login("PLAIN", "admin", "admin-secret"))
    created = admin.ask(CreateTopicsRequest([CreatableTopic("secret", 1, 1)], timeout_ms=1000), 7)
    assert [topic.error_code for topic in created.topics] == [0]
    network.run_for(1000)
    return network


def served() -> list[tuple[str, str, int]]:
    """Return listener, API and its highest version."""
    return [
        (listener, REQUESTS[key].removesuffix("Request"), versions.highest)
        for listener, role in ROLES.items()
        for key, versions in served_ranges(RELEASE, role).items()
    ]


def test_every_api_has_its_line() -> None:
    offered = {REQUESTS[key].removesuffix("Request") for role in ROLES.values() for key in RELEASE.api_ranges(role)}
    assert {api for _, api, _ in served()} <= TABLE.keys() <= offered


def codes(struct: WireStruct) -> Iterator[int]:
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if name.endswith("error_code"):
            yield value
        elif isinstance(value, list):
            for each in value:
                if hasattr(each, "__struct_fields__"):
                    yield from codes(each)


@pytest.mark.parametrize(("listener", "api", "version"), served())
def test_who_stands_in_no_acl_gets_what_kafka_gives(
    network: NodeNetwork, listener: str, api: str, version: int
) -> None:
    asked, expected = TABLE[api]
    if listener == CONTROLLER_LISTENER:
        expected = ON_CONTROLLERS.get(api, expected)
    topic = network.hosts[1].running.image.topics.topic("secret")
    assert topic is not None
    for named in (*(asked.get("topics") or ()), *asked.get("topic_data", ())):
        if "topic_id" in named:
            named["topic_id"] = topic.topic_id
    client = logged_in(network, login("PLAIN", "alice", "alice-secret"), listener)
    answer = client.ask(msgspec.convert(asked, message_class(f"{api}Request")), version)
    assert {error_name(code) for code in codes(answer) if code} == {SHORT.get(name, name) for name in expected}
