"""Generated from schemas/messages/api/02_ListOffsets.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ListOffsetsPartition(WireStruct, gc=False):
    partition_index: int = 0
    current_leader_epoch: int = -1
    timestamp: int = 0
    max_num_offsets: int = 1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("CurrentLeaderEpoch", "current_leader_epoch", "int32", "4+", default=-1, ignorable=True),
        Field("Timestamp", "timestamp", "int64", "0+"),
        Field("MaxNumOffsets", "max_num_offsets", "int32", "0", default=1),
    )


class ListOffsetsTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[ListOffsetsPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", ListOffsetsPartition, "0+", array=True),
    )


class ListOffsetsRequest(WireMessage, gc=False):
    """ListOffsetsRequest: request 2, versions 0-11, flexible 6+."""

    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListOffsetsRequest",
        "request",
        Field("ReplicaId", "replica_id", "int32", "0+"),
        Field("IsolationLevel", "isolation_level", "int8", "2+"),
        Field("Topics", "topics", ListOffsetsTopic, "0+", array=True),
        Field("TimeoutMs", "timeout_ms", "int32", "10+", ignorable=True),
        versions="0-11",
        flexible="6+",
        key=2,
    )
