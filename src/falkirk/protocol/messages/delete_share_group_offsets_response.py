"""Generated from schemas/messages/api/92_DeleteShareGroupOffsets.schema by tools/generate_messages.py: do not edit."""

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


class DeleteShareGroupOffsetsResponseTopic(WireStruct, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicName", "topic_name", "string", "0+"),
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
    )


class DeleteShareGroupOffsetsResponse(WireMessage, gc=False):
    """DeleteShareGroupOffsetsResponse: response 92, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteShareGroupOffsetsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("Responses", "responses", DeleteShareGroupOffsetsResponseTopic, "0+", array=True),
        versions="0",
        flexible="0+",
        key=92,
    )
