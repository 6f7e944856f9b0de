"""Generated from schemas/messages/api/61_DescribeProducers.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TopicRequest(WireStruct, gc=False):
    name: str = ""
    partition_indexes: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("PartitionIndexes", "partition_indexes", "int32", "0+", array=True),
    )


class DescribeProducersRequest(WireMessage, gc=False):
    """DescribeProducersRequest: request 61, versions 0, flexible 0+."""

    topics: list[TopicRequest] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeProducersRequest",
        "request",
        Field("Topics", "topics", TopicRequest, "0+", array=True),
        versions="0",
        flexible="0+",
        key=61,
    )
