"""Generated from schemas/messages/api/75_DescribeTopicPartitions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class DescribeTopicPartitionsResponsePartition(WireStruct, gc=False):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: tuple[int, ...] = ()
    isr_nodes: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    offline_replicas: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+", default=-1),
        Field("ReplicaNodes", "replica_nodes", "int32", "0+", array=True),
        Field("IsrNodes", "isr_nodes", "int32", "0+", array=True),
        Field(
            "EligibleLeaderReplicas", "eligible_leader_replicas", "int32", "0+", array=True, nullable="0+", default=None
        ),
        Field("LastKnownElr", "last_known_elr", "int32", "0+", array=True, nullable="0+", default=None),
        Field("OfflineReplicas", "offline_replicas", "int32", "0+", array=True),
    )


class DescribeTopicPartitionsResponseTopic(WireStruct, gc=False):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: int = -2147483648
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Name", "name", "string", "0+", nullable="0+"),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("IsInternal", "is_internal", "bool", "0+"),
        Field("Partitions", "partitions", DescribeTopicPartitionsResponsePartition, "0+", array=True),
        Field("TopicAuthorizedOperations", "topic_authorized_operations", "int32", "0+", default=-2147483648),
    )


class Cursor(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
    )


class DescribeTopicPartitionsResponse(WireMessage, gc=False):
    """DescribeTopicPartitionsResponse: response 75, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeTopicPartitionsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Topics", "topics", DescribeTopicPartitionsResponseTopic, "0+", array=True),
        Field("NextCursor", "next_cursor", Cursor, "0+", nullable="0+", default=None),
        versions="0",
        flexible="0+",
        key=75,
    )
