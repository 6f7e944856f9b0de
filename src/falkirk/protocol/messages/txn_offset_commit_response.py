"""Generated from schemas/messages/api/28_TxnOffsetCommit.schema by tools/generate_messages.py: do not edit."""

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


class TxnOffsetCommitResponsePartition(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class TxnOffsetCommitResponseTopic(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[TxnOffsetCommitResponsePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-5", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "6+", ignorable=True),
        Field("Partitions", "partitions", TxnOffsetCommitResponsePartition, "0+", array=True),
    )


class TxnOffsetCommitResponse(WireMessage, gc=False):
    """TxnOffsetCommitResponse: response 28, versions 0-6, flexible 3+."""

    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "TxnOffsetCommitResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Topics", "topics", TxnOffsetCommitResponseTopic, "0+", array=True),
        versions="0-6",
        flexible="3+",
        key=28,
    )
