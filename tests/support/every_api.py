"""A request to every API that names what ACLs protect, and what comes back where no ACL is about the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from data_logs import produced

from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.messages import message_class

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import StructLayout
    from falkirk.protocol.schema import WireMessage

PARTITION = {"partitions": [{"partition_index": 0}]}
# Of an epoch that is over.
LEADER = {"leader_id": 1, "leader_epoch": 0}
PATTERN = {"resource_type": 2, "resource_name": "secret", "principal": "User:a", "host": "*", "operation": 3}
FILTER = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
ENTITY = {"entity_type": "user", "entity_name": "a"}
CONFIG = {"resource_type": 2, "resource_name": "secret"}
METADATA = {"topic_name": "__cluster_metadata"}
RECORDS = produced()
NONE: set[str] = set()
# Stands for the topic's own.
OWN_ID = bytes(16)

# What is asked, and the error codes that come back, empty where nothing is told.
TABLE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "Produce": (
        {
            "acks": 1,
            "timeout_ms": 1000,
            "topic_data": [
                {"name": "secret", "topic_id": OWN_ID, "partition_data": [{"index": 0, "records": RECORDS}]}
            ],
        },
        {"TOPIC_AUTHORIZATION_FAILED"},
    ),
    "Fetch": (
        {"topics": [{"topic": "secret", "topic_id": OWN_ID, "partitions": [{"partition": 0}]}]},
        {"TOPIC_AUTHORIZATION_FAILED"},
    ),
    "ListOffsets": ({"topics": [{"name": "secret", **PARTITION}]}, {"TOPIC_AUTHORIZATION_FAILED"}),
    "Metadata": ({"topics": [{"name": "secret"}]}, {"TOPIC_AUTHORIZATION_FAILED"}),
    "OffsetCommit": ({"group_id": "g", "topics": [{"name": "secret", "topic_id": OWN_ID, **PARTITION}]}, {"GROUP"}),
    "OffsetFetch": (
        {
            "group_id": "g",
            "topics": [{"name": "secret", "partition_indexes": [0]}],
            "groups": [{"group_id": "g", "topics": None}],
        },
        {"GROUP"},
    ),
    "FindCoordinator": ({"key": "g", "coordinator_keys": ("g",)}, {"GROUP"}),
    "JoinGroup": ({"group_id": "g", "session_timeout_ms": 10_000, "protocol_type": "consumer"}, {"GROUP"}),
    "Heartbeat": ({"group_id": "g"}, {"GROUP"}),
    "LeaveGroup": ({"group_id": "g"}, {"GROUP"}),
    "SyncGroup": ({"group_id": "g", "protocol_type": "consumer", "protocol_name": "range"}, {"GROUP"}),
    "DescribeGroups": ({"groups": ("g",)}, {"GROUP"}),
    "ListGroups": ({}, NONE),
    "DeleteGroups": ({"groups_names": ("g",)}, {"GROUP"}),
    "OffsetDelete": ({"group_id": "g"}, {"GROUP"}),
    "WriteTxnMarkers": ({"markers": [{"topics": [{"name": "secret", "partition_indexes": [0]}]}]}, {"CLUSTER"}),
    # Of brokers alone in the highest version.
    "AddPartitionsToTxn": ({"transactions": [{"transactional_id": "t", "topics": [{"name": "secret"}]}]}, {"CLUSTER"}),
    "AddOffsetsToTxn": ({"transactional_id": "t", "group_id": "g"}, {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}),
    "EndTxn": ({"transactional_id": "t"}, {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}),
    "DescribeTransactions": ({"transactional_ids": ("t",)}, {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}),
    "ListTransactions": ({}, NONE),
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
    "DeleteTopics": ({"topic_names": ("secret",), "topics": [{"name": "secret"}]}, {"TOPIC"}),
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
    "DescribeUserScramCredentials": ({"users": [{"name": "bob"}]}, {"CLUSTER"}),
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
    "UnregisterBroker": ({"broker_id": 9}, {"CLUSTER"}),
    "AllocateProducerIds": ({"broker_id": 1}, {"CLUSTER"}),
    "ControllerRegistration": ({"controller_id": 9}, {"CLUSTER"}),
    "AssignReplicasToDirs": ({"broker_id": 1}, {"CLUSTER"}),
    "ListConfigResources": ({}, {"CLUSTER"}),
    "DescribeTopicPartitions": ({"topics": [{"name": "secret"}]}, {"TOPIC"}),
    "AddRaftVoter": ({"voter_id": 9}, {"CLUSTER"}),
    "RemoveRaftVoter": ({"voter_id": 9}, {"CLUSTER"}),
    "UpdateRaftVoter": ({"voter_id": 9}, {"CLUSTER"}),
}
SHORT = {
    "TOPIC": "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER": "CLUSTER_AUTHORIZATION_FAILED",
    "GROUP": "GROUP_AUTHORIZATION_FAILED",
}


def request_of(api: str, version: int, fields: dict[str, Any]) -> WireMessage:
    """Return a request of the version with those of the fields that it has."""
    return _struct(message_layout(message_class(f"{api}Request"), version), fields)


def _struct(layout: StructLayout, fields: dict[str, Any]) -> Any:  # Any: a struct of the layout's class
    values = {}
    for field in layout.all_fields:
        if field.attribute not in fields:
            continue
        value = fields[field.attribute]
        if field.struct is not None and isinstance(value, list):
            value = [_struct(field.struct, each) for each in value]
        elif isinstance(value, list):
            value = tuple(value)
        values[field.attribute] = value
    return layout.cls(**values)
