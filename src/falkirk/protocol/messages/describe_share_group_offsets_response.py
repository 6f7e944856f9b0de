"""Generated from schemas/messages/api/90_DescribeShareGroupOffsets.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class DescribeShareGroupOffsetsResponsePartition(WireStruct, gc=False):
    partition_index: int = 0
    start_offset: int = 0
    leader_epoch: int = 0
    lag: int = -1
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
        Field("Lag", "lag", "int64", "1+", default=-1, ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
    )


class DescribeShareGroupOffsetsResponseTopic(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", DescribeShareGroupOffsetsResponsePartition, "0+", array=True),
    )


class DescribeShareGroupOffsetsResponseGroup(WireStruct, gc=False):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", DescribeShareGroupOffsetsResponseTopic, "0+", array=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
    )


class DescribeShareGroupOffsetsResponse(WireMessage, gc=False):
    """DescribeShareGroupOffsetsResponse: response 90, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeShareGroupOffsetsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Groups", "groups", DescribeShareGroupOffsetsResponseGroup, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=90,
    )
