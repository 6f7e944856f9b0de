"""Generated from schemas/messages/api/55_DescribeQuorum.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
    )


class TopicData(WireStruct, gc=False):
    topic_name: str = ""
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class DescribeQuorumRequest(WireMessage, gc=False):
    """DescribeQuorumRequest: request 55, versions 0-2, flexible 0+."""

    topics: list[TopicData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeQuorumRequest",
        "request",
        Field("Topics", "topics", TopicData, "0+", array=True),
        versions="0-2",
        flexible="0+",
        key=55,
    )
