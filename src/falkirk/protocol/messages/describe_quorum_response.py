"""Generated from schemas/messages/api/55_DescribeQuorum.schema by tools/generate_messages.py: do not edit."""

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


class ReplicaState(WireStruct, gc=False):
    replica_id: int = 0
    replica_directory_id: bytes = ZERO_UUID
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ReplicaId", "replica_id", "int32", "0+"),
        Field("ReplicaDirectoryId", "replica_directory_id", "uuid", "2+"),
        Field("LogEndOffset", "log_end_offset", "int64", "0+"),
        Field("LastFetchTimestamp", "last_fetch_timestamp", "int64", "1+", default=-1, ignorable=True),
        Field("LastCaughtUpTimestamp", "last_caught_up_timestamp", "int64", "1+", default=-1, ignorable=True),
    )


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "2+", nullable="2+", ignorable=True),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("HighWatermark", "high_watermark", "int64", "0+"),
        Field("CurrentVoters", "current_voters", ReplicaState, "0+", array=True),
        Field("Observers", "observers", ReplicaState, "0+", array=True),
    )


class TopicData(WireStruct, gc=False):
    topic_name: str = ""
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class Listener(WireStruct, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "2+"),
        Field("Host", "host", "string", "2+"),
        Field("Port", "port", "uint16", "2+"),
    )


class Node(WireStruct, gc=False):
    node_id: int = 0
    listeners: list[Listener] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("NodeId", "node_id", "int32", "2+"),
        Field("Listeners", "listeners", Listener, "2+", array=True),
    )


class DescribeQuorumResponse(WireMessage, gc=False):
    """DescribeQuorumResponse: response 55, versions 0-2, flexible 0+."""

    error_code: int = 0
    error_message: str | None = ""
    topics: list[TopicData] = []
    nodes: list[Node] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeQuorumResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "2+", nullable="2+", ignorable=True),
        Field("Topics", "topics", TopicData, "0+", array=True),
        Field("Nodes", "nodes", Node, "2+", array=True),
        versions="0-2",
        flexible="0+",
        key=55,
    )
