"""Generated from schemas/messages/api/75_DescribeTopicPartitions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TopicRequest(WireStruct, gc=False):
    name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
    )


class Cursor(WireStruct, gc=False):
    topic_name: str = ""
    partition_index: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("PartitionIndex", "partition_index", "int32", "0+"),
    )


class DescribeTopicPartitionsRequest(WireMessage, gc=False):
    """DescribeTopicPartitionsRequest: request 75, versions 0, flexible 0+."""

    topics: list[TopicRequest] = []
    response_partition_limit: int = 2000
    cursor: Cursor | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeTopicPartitionsRequest",
        "request",
        Field("Topics", "topics", TopicRequest, "0+", array=True),
        Field("ResponsePartitionLimit", "response_partition_limit", "int32", "0+", default=2000),
        Field("Cursor", "cursor", Cursor, "0+", nullable="0+", default=None),
        versions="0",
        flexible="0+",
        key=75,
    )
