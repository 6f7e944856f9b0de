"""Generated from schemas/messages/api/90_DescribeShareGroupOffsets.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribeShareGroupOffsetsRequestTopic(WireStruct, gc=False):
    topic_name: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class DescribeShareGroupOffsetsRequestGroup(WireStruct, gc=False):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", DescribeShareGroupOffsetsRequestTopic, "0+", array=True, nullable="0+"),
    )


class DescribeShareGroupOffsetsRequest(WireMessage, gc=False):
    """DescribeShareGroupOffsetsRequest: request 90, versions 0-1, flexible 0+."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeShareGroupOffsetsRequest",
        "request",
        Field("Groups", "groups", DescribeShareGroupOffsetsRequestGroup, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=90,
    )
