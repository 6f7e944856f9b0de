"""Generated from schemas/messages/api/91_AlterShareGroupOffsets.schema by tools/generate_messages.py: do not edit."""

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


class AlterShareGroupOffsetsResponsePartition(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
    )


class AlterShareGroupOffsetsResponseTopic(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", AlterShareGroupOffsetsResponsePartition, "0+", array=True),
    )


class AlterShareGroupOffsetsResponse(WireMessage, gc=False):
    """AlterShareGroupOffsetsResponse: response 91, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterShareGroupOffsetsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("Responses", "responses", AlterShareGroupOffsetsResponseTopic, "0+", array=True),
        versions="0",
        flexible="0+",
        key=91,
    )
