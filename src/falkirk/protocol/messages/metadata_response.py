"""Generated from schemas/messages/api/03_Metadata.schema by tools/generate_messages.py: do not edit."""

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


class MetadataResponseBroker(WireStruct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("NodeId", "node_id", "int32", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "int32", "0+"),
        Field("Rack", "rack", "string", "1+", nullable="1+", default=None, ignorable=True),
    )


class MetadataResponsePartition(WireStruct, gc=False):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: tuple[int, ...] = ()
    isr_nodes: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "7+", default=-1, ignorable=True),
        Field("ReplicaNodes", "replica_nodes", "int32", "0+", array=True),
        Field("IsrNodes", "isr_nodes", "int32", "0+", array=True),
        Field("OfflineReplicas", "offline_replicas", "int32", "5+", array=True, ignorable=True),
    )


class MetadataResponseTopic(WireStruct, gc=False):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: int = -2147483648
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Name", "name", "string", "0+", nullable="12+"),
        Field("TopicId", "topic_id", "uuid", "10+", ignorable=True),
        Field("IsInternal", "is_internal", "bool", "1+", ignorable=True),
        Field("Partitions", "partitions", MetadataResponsePartition, "0+", array=True),
        Field("TopicAuthorizedOperations", "topic_authorized_operations", "int32", "8+", default=-2147483648),
    )


class MetadataResponse(WireMessage, gc=False):
    """MetadataResponse: response 3, versions 0-13, flexible 9+."""

    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "MetadataResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "3+", ignorable=True),
        Field("Brokers", "brokers", MetadataResponseBroker, "0+", array=True),
        Field("ClusterId", "cluster_id", "string", "2+", nullable="2+", default=None, ignorable=True),
        Field("ControllerId", "controller_id", "int32", "1+", default=-1, ignorable=True),
        Field("Topics", "topics", MetadataResponseTopic, "0+", array=True),
        Field("ClusterAuthorizedOperations", "cluster_authorized_operations", "int32", "8-10", default=-2147483648),
        Field("ErrorCode", "error_code", "int16", "13+", ignorable=True),
        versions="0-13",
        flexible="9+",
        key=3,
    )
