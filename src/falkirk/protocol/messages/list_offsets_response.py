"""Generated from schemas/messages/api/02_ListOffsets.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ListOffsetsPartitionResponse(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    old_style_offsets: tuple[int, ...] = ()
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("OldStyleOffsets", "old_style_offsets", "int64", "0", array=True),
        Field("Timestamp", "timestamp", "int64", "1+", default=-1),
        Field("Offset", "offset", "int64", "1+", default=-1),
        Field("LeaderEpoch", "leader_epoch", "int32", "4+", default=-1),
    )


class ListOffsetsTopicResponse(WireStruct, gc=False):
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", ListOffsetsPartitionResponse, "0+", array=True),
    )


class ListOffsetsResponse(WireMessage, gc=False):
    """ListOffsetsResponse: response 2, versions 0-11, flexible 6+."""

    throttle_time_ms: int = 0
    topics: list[ListOffsetsTopicResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListOffsetsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "2+", ignorable=True),
        Field("Topics", "topics", ListOffsetsTopicResponse, "0+", array=True),
        versions="0-11",
        flexible="6+",
        key=2,
    )
