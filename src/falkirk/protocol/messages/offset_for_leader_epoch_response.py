"""Generated from schemas/messages/api/23_OffsetForLeaderEpoch.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class EpochEndOffset(WireStruct, gc=False):
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("Partition", "partition", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "1+", default=-1, ignorable=True),
        Field("EndOffset", "end_offset", "int64", "0+", default=-1),
    )


class OffsetForLeaderTopicResult(WireStruct, gc=False):
    topic: str = ""
    partitions: list[EpochEndOffset] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", EpochEndOffset, "0+", array=True),
    )


class OffsetForLeaderEpochResponse(WireMessage, gc=False):
    """OffsetForLeaderEpochResponse: response 23, versions 0-4, flexible 4+."""

    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetForLeaderEpochResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "2+", ignorable=True),
        Field("Topics", "topics", OffsetForLeaderTopicResult, "0+", array=True),
        versions="0-4",
        flexible="4+",
        key=23,
    )
