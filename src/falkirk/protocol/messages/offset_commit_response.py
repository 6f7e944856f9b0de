"""Generated from schemas/messages/api/08_OffsetCommit.schema by tools/generate_messages.py: do not edit."""

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


class OffsetCommitResponsePartition(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class OffsetCommitResponseTopic(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-9", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "10+", ignorable=True),
        Field("Partitions", "partitions", OffsetCommitResponsePartition, "0+", array=True),
    )


class OffsetCommitResponse(WireMessage, gc=False):
    """OffsetCommitResponse: response 8, versions 0-10, flexible 8+."""

    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponseTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetCommitResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "3+", ignorable=True),
        Field("Topics", "topics", OffsetCommitResponseTopic, "0+", array=True),
        versions="0-10",
        flexible="8+",
        key=8,
    )
