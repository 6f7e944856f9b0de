"""Generated from schemas/messages/api/47_OffsetDelete.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, WireMessage, WireStruct


class OffsetDeleteRequestPartition(WireStruct, gc=False):
    partition_index: int = 0

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
    )


class OffsetDeleteRequestTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = []

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", OffsetDeleteRequestPartition, "0+", array=True),
    )


class OffsetDeleteRequest(WireMessage, gc=False):
    """OffsetDeleteRequest: request 47, versions 0, flexible none."""

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = []

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetDeleteRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", OffsetDeleteRequestTopic, "0+", array=True),
        versions="0",
        flexible="none",
        key=47,
    )
