"""Generated from schemas/messages/api/45_AlterPartitionReassignments.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ReassignablePartition(WireStruct, gc=False):
    partition_index: int = 0
    replicas: tuple[int, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("Replicas", "replicas", "int32", "0+", array=True, nullable="0+", default=None),
    )


class ReassignableTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[ReassignablePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", ReassignablePartition, "0+", array=True),
    )


class AlterPartitionReassignmentsRequest(WireMessage, gc=False):
    """AlterPartitionReassignmentsRequest: request 45, versions 0-1, flexible 0+."""

    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: list[ReassignableTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterPartitionReassignmentsRequest",
        "request",
        Field("TimeoutMs", "timeout_ms", "int32", "0+", default=60000),
        Field("AllowReplicationFactorChange", "allow_replication_factor_change", "bool", "1+", default=True),
        Field("Topics", "topics", ReassignableTopic, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=45,
    )
