"""Generated from schemas/messages/api/91_AlterShareGroupOffsets.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterShareGroupOffsetsRequestPartition(WireStruct, gc=False):
    partition_index: int = 0
    start_offset: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
    )


class AlterShareGroupOffsetsRequestTopic(WireStruct, gc=False):
    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", AlterShareGroupOffsetsRequestPartition, "0+", array=True),
    )


class AlterShareGroupOffsetsRequest(WireMessage, gc=False):
    """AlterShareGroupOffsetsRequest: request 91, versions 0, flexible 0+."""

    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterShareGroupOffsetsRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", AlterShareGroupOffsetsRequestTopic, "0+", array=True),
        versions="0",
        flexible="0+",
        key=91,
    )
