"""Generated from schemas/messages/api/35_DescribeLogDirs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribableLogDirTopic(WireStruct, gc=False):
    topic: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class DescribeLogDirsRequest(WireMessage, gc=False):
    """DescribeLogDirsRequest: request 35, versions 0-5, flexible 2+."""

    topics: list[DescribableLogDirTopic] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeLogDirsRequest",
        "request",
        Field("Topics", "topics", DescribableLogDirTopic, "0+", array=True, nullable="0+"),
        versions="0-5",
        flexible="2+",
        key=35,
    )
